"""Every mistake ends in one sentence that names it and its remedy, and leaves no file."""

import gzip
import json

import pandas as pd
import pytest

PICK = ("pick", "candidates.csv", "--history", "history.csv", "--label", "outcome")


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def fails(files, result, code, *words):
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("pick",), 2, ()),
        (("--nonsense",), 2, ("No such option",)),
        ((*PICK, "-k", "none"), 2, ("no budget", "5%")),
        ((*PICK, "-k", "0"), 2, ("no budget",)),
        ((*PICK, "-k", "-3"), 2, ()),
        ((*PICK, "-k", "1.5"), 2, ("no budget",)),
        ((*PICK, "-k", "20", "-o", "-", "--json"), 2, ("standard output",)),
        ((*PICK, "-k", "81", "--positive", "bad"), 1, ("81", "80 candidates")),
        ((*PICK, "-k", "20"), 1, ("--positive", "'good'")),
        ((*PICK, "-k", "20", "--positive", "ugly"), 1, ("'ugly'", "'bad'")),
        ((*PICK, "-k", "20", "--positive", "bad", "--id", "laon"), 1, ("Did you mean 'loan'",)),
        ((*PICK, "-k", "20", "--positive", "bad", "--drop", "agee"), 1, ("Did you mean 'age'",)),
        ((*PICK, "-k", "20", "-o", "list.doc"), 1, (".parquet",)),
        ((*PICK, "-k", "20", "-o", "no/such/list.csv"), 1, ("does not exist",)),
        ((*PICK, "-k", "20", "-o", "history.csv"), 1, ("--force",)),
        ((*PICK, "-k", "20", "-o", "."), 1, ()),
        ((*PICK, "-k", "20", "--report", "page.pdf"), 1, (".html",)),
        ((*PICK, "-k", "20", "--save", "model.pkl"), 1, (".skops",)),
        ((*PICK, "-k", "20", "--encoding", "klingon"), 1, ("klingon", "cp1252")),
        ((*PICK, "-k", "20", "--encoding", "utf-16"), 1, ("encoding",)),
        (("pick", "nowhere.csv", *PICK[2:], "-k", "3"), 1, ("nowhere.csv does not exist",)),
        (("pick", "-", "--history", "-", *PICK[4:], "-k", "3"), 2, ("standard input",)),
        (("score", "candidates.csv", "--model", "history.csv"), 1, ("not a model file",)),
        (("score", "candidates.csv", "--model", "none.skops"), 1, ("none.skops does not exist",)),
        (("export", "none.skops", "-o", "model.onnx"), 1, ("none.skops does not exist",)),
        (("export", "history.csv", "-o", "model.onnx"), 1, ("not a model file",)),
        (("export", "history.csv", "-o", "model.pkl"), 2, (".onnx",)),
        (("evaluate", "history.csv", "--label", "outcome", "--positive", "bad", "--score",
          "purpose", "-k", "3"), 1, ("no finite number", "row")),
    ],
)  # fmt: skip
def test_mistakes(files, invoke, arguments, code, words):
    before = snapshot(files)
    fails(files, invoke(*arguments), code, *words)
    assert snapshot(files) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("empty",)),
        (b"\n\n", ("empty",)),
        (b"loan,months", ("empty",)),
        (b"loan,age\n1,2\n3,4,5\n", ("well-formed", "row 3 has 3 cells, the first row 2")),
        (b"loan,age\n1\n", ("well-formed",)),
        (b"age,age\n1,2\n", ("more than one column", "'age'")),
        ("loan,age\nM\xfcller,3\n".encode("latin-1"), ("UTF-8", "--encoding cp1252")),
        ("loan,age\n1,2\n".encode("utf-16"), ("columns differ",)),
        (b"PK\x03\x04" + bytes(200), ("damaged archive or spreadsheet",)),
        (b"\xd0\xcf\x11\xe0" + bytes(200), ("save it as .xlsx or CSV",)),
        (b"PAR1" + bytes(200), ("Parquet",)),
        (b'loan,age\n"1,2\n', ("well-formed",)),
        (b"loan,age\n1,2\n", ("columns differ", "'months'", "--drop 'months'")),
    ],
)
def test_unreadable_candidates(files, invoke, content, words):
    (files / "candidates.csv").write_bytes(content)
    before = snapshot(files)
    result = invoke(*PICK, "--positive", "bad", "-k", "1", "-o", "list.csv", "--id", "loan")
    fails(files, result, 1, *words)
    assert snapshot(files) == before


def test_renamed_column_is_named(files, invoke):
    table = pd.read_csv("candidates.csv").rename(columns={"age": "Age"})
    table.to_csv("candidates.csv", index=False)
    result = invoke(*PICK, "--positive", "bad", "-k", "5", "--id", "loan")
    fails(files, result, 1, "lacks 'age'", "'Age'", "--drop 'age'")


def test_missing_label_column_suggests_the_nearest(files, invoke):
    result = invoke(*PICK[:-1], "Outcome", "-k", "5")
    fails(files, result, 1, "no column 'Outcome'", "Did you mean 'outcome'")


def test_one_class_only(files, invoke):
    table = pd.read_csv("history.csv").assign(outcome="good")
    table.to_csv("history.csv", index=False)
    fails(files, invoke(*PICK, "-k", "5"), 1, "one class only", "'good'")
    fails(files, invoke(*PICK, "-k", "5", "--positive", "good"), 1, "one class only")


def test_header_without_rows(files, invoke):
    head = (files / "candidates.csv").read_text().splitlines()[0]
    (files / "candidates.csv").write_text(head + "\n")
    fails(files, invoke(*PICK, "--positive", "bad", "-k", "5", "--id", "loan"), 1, "no rows")


def test_a_model_with_other_parts_is_refused(files, invoke):
    import skops.io

    from shortlist import TopKSVC

    skops.io.dump({"format": 2, "pipeline": TopKSVC()}, "evil.skops")
    result = invoke("score", "candidates.csv", "--model", "evil.skops")
    fails(files, result, 1, "shortlist.topk.estimator.TopKSVC", "refused", "nothing in it was run")


def test_evaluate_in_words_and_ties(files, invoke):
    table = pd.DataFrame({"s": [3, 2, 2, 1, 0.5, 0], "hit": ["yes", "no", "yes", "no", "no", ""]})
    table.to_csv("scored.csv", index=False)
    result = invoke("evaluate", "scored.csv", "--label", "hit", "--score", "s", "-k", "2")
    assert result.exit_code == 0, result.output
    assert "1.5" in result.stdout
    assert "75.0 %" in result.stdout
    assert "without a label" in result.stderr
    with gzip.open("scored.csv.gz", "wt") as file:
        table.to_csv(file, index=False)
    told = invoke(
        "evaluate", "scored.csv.gz", "--label", "hit", "--score", "s", "-k", "2", "--json"
    )
    assert json.loads(told.stdout)["recall_at_k"]["estimate"] == pytest.approx(0.75)


def test_unexpected_errors_are_one_line(files, invoke, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the cause\nand more")

    monkeypatch.setattr("shortlist.picking.pick", broken)
    before = snapshot(files)
    result = invoke(*PICK, "--positive", "bad", "-k", "5", "--id", "loan", "-o", "list.csv")
    fails(files, result, 1, "unexpected RuntimeError: the cause")
    assert snapshot(files) == before
