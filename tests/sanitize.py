"""Build the core with sanitizers in a scratch folder and run the tests that touch it.

    python -m tests.sanitize                      # AddressSanitizer and UndefinedBehaviorSanitizer
    python -m tests.sanitize thread               # ThreadSanitizer
    python -m tests.sanitize address,undefined tests/topk -k block

Needs GCC with its sanitizer libraries, CMake and nanobind. The first report of a sanitizer
ends the run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = [
    "tests/core",
    "tests/rows",
    "tests/top/test_interior_loops.py",
    "tests/top/test_pair_steps.py",
    "tests/top/test_projections.py",
    "tests/top/test_score_parts.py",
    "tests/top/test_shared_steps.py",
    "tests/top/test_simplex.py",
    "tests/topk/test_topk_block.py",
    "tests/topk/test_topk_leap.py",
    "tests/topk/test_topk_selected.py",
    "tests/pairs/test_pairs.py",
    "tests/transductive/test_active_set.py",
]
RUNTIME = {"address": "libasan.so", "thread": "libtsan.so", "undefined": "libubsan.so"}
# An editable install answers for `shortlist` before any path does: it has to go.
LAUNCH = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "Editable" not in type(f).__name__
                    and "Redirect" not in type(f).__name__]
sys.path.insert(0, sys.argv[1])
import pytest, shortlist._core
assert shortlist._core.__file__.startswith(sys.argv[1]), shortlist._core.__file__
sys.exit(pytest.main(sys.argv[2:]))
"""


def build(source: Path, scratch: Path, **options: str) -> Path:
    """Build the package of `source`; return a folder to import it from."""
    nanobind = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    found = subprocess.run(nanobind, capture_output=True, text=True, check=True).stdout.strip()
    options = {"Python_EXECUTABLE": sys.executable, "nanobind_DIR": found, **options}
    defined = [f"-D{name}={value}" for name, value in options.items()]
    for command in (
        ["-S", source, "-B", scratch / "build", *defined],
        ["--build", scratch / "build", "--parallel", "2"],
    ):
        subprocess.run(["cmake", *command], check=True, stdout=subprocess.DEVNULL)
    package = scratch / "site" / "shortlist"
    shutil.copytree(source / "src" / "shortlist", package, dirs_exist_ok=True)
    for module in (scratch / "build").glob("_core*.so"):
        shutil.copy(module, package)
    return package.parent


def library(name: str) -> str:
    """Return the path of a library of the compiler."""
    command = [os.environ.get("CXX", "g++"), f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str]) -> int:
    """Build, run, and return the exit status of the tests."""
    sanitizers = arguments.pop(0) if arguments and arguments[0][0] != "-" else "address,undefined"
    with tempfile.TemporaryDirectory() as scratch:
        options = {"CMAKE_BUILD_TYPE": "Release", "SHORTLIST_SANITIZE": sanitizers}
        site = build(ROOT, Path(scratch), **options)
        # The C++ library beside them, or they cannot follow exceptions.
        loaded = [library(RUNTIME[s]) for s in sanitizers.split(",")] + [library("libstdc++.so")]
        environment = os.environ | {
            "LD_PRELOAD": " ".join(loaded),
            "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "TSAN_OPTIONS": "halt_on_error=1:report_signal_unsafe=0",
            "PYTHONMALLOC": "malloc",
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-c", LAUNCH, str(site), "-q", "-p", "no:cacheprovider"]
        # Sanitizers end the process where memory is refused; elsewhere it is an exception.
        command += ["--deselect", "tests/core/test_room.py::test_more_than_there_is"]
        command += arguments or TESTS
        return subprocess.run(command, env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
