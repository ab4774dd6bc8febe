"""Outputs appear whole, together, or not at all."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from shortlist._files import Outputs, free_names


def test_outputs_appear_together_or_not_at_all(tmp_path):
    one, two = str(tmp_path / "one.csv"), str(tmp_path / "two.html")

    def write_and_fail(text, **settings):
        with Outputs(one, two, **settings) as outputs:
            outputs[one].write_text(text)
            raise RuntimeError("late")

    with pytest.raises(RuntimeError, match="late"):
        write_and_fail("done")
    assert list(tmp_path.iterdir()) == []
    with Outputs(one, two) as outputs:
        outputs[one].write_text("1")
        outputs[two].write_text("2")
        assert not (tmp_path / "one.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.csv", "two.html"]
    with pytest.raises(FileExistsError, match="--force"):
        Outputs(one)
    with pytest.raises(RuntimeError, match="late"):
        write_and_fail("changed", force=True)
    assert (tmp_path / "one.csv").read_text() == "1"
    with pytest.raises(FileExistsError, match="twice"):
        Outputs(str(tmp_path / "x.csv"), str(tmp_path / "." / "x.csv"))


def test_free_names_keep_a_pair_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").touch()
    (tmp_path / "shortlist-2.csv").touch()
    assert free_names("shortlist.csv", "report.html") == ["shortlist-3.csv", "report-3.html"]


def test_a_replaced_file_keeps_its_rights_and_a_link_its_target(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with Outputs(str(link), force=True) as outputs:
        outputs[str(link)].write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "real.csv"]


def test_of_two_processes_one_wins(tmp_path):
    path = str(tmp_path / "list.csv")
    first, second = Outputs(path), Outputs(path)
    with first:
        first[path].write_text("first")
        second.__enter__()
        second[path].write_text("second")
    with pytest.raises(FileExistsError, match="--force"):
        second.__exit__(None, None, None)
    assert (tmp_path / "list.csv").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["list.csv"]


RACE = """
import multiprocessing
from shortlist._files import Outputs

def work(me, start, told):
    for number in range(50):
        names = [f"{number}.{kind}" for kind in ("report", "model", "list")]
        start.wait()
        try:
            with Outputs(*names) as outputs:
                for name in names:
                    outputs[name].write_text(me)
            told.put(number)
        except FileExistsError:
            pass

context = multiprocessing.get_context("fork")
start, told = context.Barrier(3), context.SimpleQueue()
processes = [context.Process(target=work, args=(me, start, told)) for me in "abc"]
for process in processes:
    process.start()
for process in processes:
    process.join()
while not told.empty():
    print(told.get())
"""


def test_of_processes_that_really_race_one_wins_with_all_its_files(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RACE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert sorted(map(int, done.stdout.split())) == list(range(50))
    for number in range(50):
        kinds = ("report", "model", "list")
        assert len({(tmp_path / f"{number}.{kind}").read_text() for kind in kinds}) == 1
    assert len(list(tmp_path.iterdir())) == 150


SIGNALS = """
import os, signal, sys
from pathlib import Path
from shortlist import _files
from shortlist._app._group import _ends_cleanly, Stopped

NUMBER, OLD = int(sys.argv[1]), sys.argv[2] == "old"
NAMES = ("report", "model", "list")

def write(text, moment):
    done = []

    def disturbed(name):
        original = getattr(_files.os, name)

        def call(*arguments, **settings):
            done.append(name)
            if len(done) == moment:
                os.kill(os.getpid(), NUMBER)
            return original(*arguments, **settings)

        setattr(_files.os, name, call)

    for name in ("link", "replace", "close", "unlink", "chmod"):
        disturbed(name)
    try:
        with _ends_cleanly(), _files.Outputs(*NAMES, force=OLD) as outputs:
            for path in NAMES:
                outputs[path].write_text(text)
    except (Stopped, KeyboardInterrupt):
        print("stopped", _files.Outputs.published, end="; ")
    return len(done)

# Undisturbed first, to count the moments; each in a process and a folder of its own.
moment, steps = -1, 0
while moment < steps:
    moment += 1
    os.makedirs(f"{moment}")
    os.chdir(f"{moment}")
    for name in NAMES if OLD else ():
        Path(name).write_text("old")
    read, write_to = os.pipe()
    child = os.fork()
    if not child:
        os.write(write_to, b"%d" % write("new", moment))
        sys.stdout.flush()
        os._exit(0)
    os.close(write_to)
    _, status = os.waitpid(child, 0)
    steps = steps or int(os.read(read, 9))
    os.close(read)
    if os.WIFSIGNALED(status):
        print("killed", end="; ")
    print({path.name: path.read_text() for path in sorted(Path().iterdir())}, end="; ")
    if os.WIFSIGNALED(status):
        # Whoever writes there next finishes what was begun.
        with _files.Outputs("another"):
            pass
        print({name: Path(name).read_text() for name in NAMES if Path(name).exists()}, end="")
    print(flush=True)
    os.chdir("..")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [15, 2, 9])
@pytest.mark.parametrize("old", [True, False])
def test_a_signal_at_any_moment_leaves_all_or_none(tmp_path, number, old):
    everything = [dict.fromkeys(("list", "model", "report"), text) for text in ("old", "new")]
    if not old:
        everything[0] = {}
    done = subprocess.run(
        [sys.executable, "-c", SIGNALS, str(number), "old" if old else "none"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split("; ") for line in done.stdout.splitlines()]
    stopped = [line for line in lines if line[0].startswith("stopped" if number != 9 else "killed")]
    assert len(stopped) > 9
    for line in stopped:
        found = ast.literal_eval(line[1])
        if number != 9:
            assert found in everything
            assert (found == everything[1]) == (line[0] == "stopped True")
            continue
        # Nobody can tidy up, but a list is there only with its own report and model.
        seen = {name: text for name, text in found.items() if not name.startswith(".")}
        assert "list" not in seen or seen in everything
        assert ast.literal_eval(line[2]) in everything
    # Both ends were seen.
    last = [ast.literal_eval(line[2 if number == 9 else 1]) for line in stopped]
    assert all(end in last for end in everything)


def test_only_own_notes_are_believed(tmp_path):
    secret, target = tmp_path / "secret", tmp_path / "list.csv"
    secret.write_text("secret")
    for number, (made, mode) in enumerate([(secret, 0o600), (tmp_path / ".shortlist-x", 0o666)]):
        note = tmp_path / f".shortlist-journal-{number}"
        note.write_text(json.dumps({"moves": [[str(made), str(target)]] * 2, "force": True}))
        note.chmod(mode)
    (tmp_path / ".shortlist-x").write_text("foreign")
    (tmp_path / ".shortlist-journal-half").write_text('{"moves": [["')
    (tmp_path / ".shortlist-journal-half").chmod(0o600)
    Outputs(str(tmp_path / "another"))
    assert secret.read_text() == "secret"
    assert not target.exists()
    assert not (tmp_path / ".shortlist-journal-half").exists()


@pytest.mark.parametrize("force", [False, True])
def test_a_failure_while_publishing_takes_back_what_was_published(tmp_path, monkeypatch, force):
    import shortlist._files

    paths = [str(tmp_path / name) for name in ("a.html", "b.skops", "c.csv")]
    if force:
        for path in paths:
            Path(path).write_text("old")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    put, calls = shortlist._files.Outputs._put, []

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError("no space left")
        return put(self, *arguments)

    monkeypatch.setattr(shortlist._files.Outputs, "_put", failing)

    def write():
        with Outputs(*paths, force=force) as outputs:
            for path in paths:
                outputs[path].write_text("new")

    with pytest.raises(OSError, match="no space"):
        write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
