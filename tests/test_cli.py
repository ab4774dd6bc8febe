import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["click", "pandas", "skrub", "pyarrow"])
def test_without_the_extra_the_command_says_what_to_install(package):
    code = (
        f"import sys; sys.modules['{package}'] = None\n"
        "from shortlist.cli import main\n"
        "sys.argv = ['shortlist', 'demo']; main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert 'pip install "shortlist[app]"' in run.stderr
    assert package in run.stderr
    assert "Traceback" not in run.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys; import shortlist; from shortlist._app import app\n"
        "heavy = {'sklearn', 'pandas', 'skrub', 'pyarrow', 'scipy', 'rich', 'skops'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr
