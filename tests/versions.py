"""The tests at either end of the supported versions.

    python3.11 -m tests.versions oldest           # what pyproject.toml allows at least
    python3.14 -m tests.versions newest           # what there is today
    python3.11 -m tests.versions oldest tests/onnx -x

Makes an environment of the interpreter that runs it, installs the package there with the
versions of one end, and runs pytest in it, with what else was asked for. The environment is
kept in build/versions and used again. Needs pip, the packages' index and a C++ compiler, or
a wheel (tests/wheel/recipe.sh makes one).
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDS = {
    "oldest": ["--constraint", str(ROOT / ".github" / "oldest.txt")],
    "newest": ["--upgrade", "--upgrade-strategy", "eager"],
}
SHOWN = ("numpy", "scipy", "scikit-learn", "pandas", "skops", "onnx", "onnxruntime", "dask")
# What was installed, by the interpreter of the environment.
TELL = "import sys, importlib.metadata as m; print('Python', sys.version.split()[0]); " + (
    "; ".join(f"print('{name}', m.version('{name}'))" for name in SHOWN)
)


def main() -> int:
    """Install, tell what was installed, test."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("end", choices=ENDS)
    parser.add_argument("--folder", type=Path, help="of the environment")
    parser.add_argument("--wheel", help="to install, where there is no compiler")
    asked, tests = parser.parse_known_args()
    folder = asked.folder or ROOT / "build" / "versions" / (
        f"{asked.end}-{sys.version_info[0]}.{sys.version_info[1]}"
    )
    if not (folder / "pyvenv.cfg").is_file():
        venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        *ENDS[asked.end],
        f"{asked.wheel or ROOT}[test]",
    ]
    for command in (install, [python, "-c", TELL]):
        if done := subprocess.run(command, cwd=ROOT).returncode:
            return done
    return subprocess.run([python, "-m", "pytest", "-q", *tests], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
