import subprocess
import sys

from click.testing import CliRunner

from shortlist._app import app


def test_demo_prints_a_table_with_certificates():
    result = CliRunner().invoke(app, ["demo", "--splits", "2"])
    assert result.exit_code == 0, result.output
    assert "logistic regression" in result.stdout
    assert "TopPush(k=1)" in result.stdout
    assert "e-05" in result.stdout


def test_bad_option_is_a_usage_error():
    result = CliRunner().invoke(app, ["demo", "--digit", "11"])
    assert result.exit_code == 2
    assert "11 is not in the range" in result.output


def test_without_the_extra_the_command_says_what_to_install():
    code = (
        "import sys; sys.modules['click'] = None\n"
        "from shortlist.cli import main\n"
        "sys.argv = ['shortlist', 'demo']; main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert 'pip install "shortlist[app]"' in run.stderr
    assert "Traceback" not in run.stderr
