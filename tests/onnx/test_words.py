"""Free text in ONNX against the pieces of words that Python counts."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from shortlist._words import BUCKETS, along, count_pieces
from shortlist.picking.race.models import default_features

onnxruntime = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper  # noqa: E402

from shortlist.onnx import to_onnx  # noqa: E402
from shortlist.onnx._graph import DOUBLE, OPSETS, Graph  # noqa: E402
from shortlist.onnx._words import directions_of_text  # noqa: E402

RNG = np.random.default_rng(0)
RARITY = RNG.uniform(1.0, 5.0, BUCKETS)
DIRECTIONS = RNG.normal(size=(3, BUCKETS)).astype(np.float32)
EDGES = [
    *("a", "ab", "abc", "abcd", "a b", "A-b_c", "!!", "  ", "\t", "a\x1fb\u2028c\xa0d"),
    *(
        "İstanbul",
        "ΟΔΟΣ οδος Σ",
        "ß ﬁ Ǆ ǅ ǆ",
        "e\u0301 é",
        "\ue000",
        "中文字符",
        "😀👩\u200d👩",
        "\x00",
    ),
    *("x" * 63, "x" * 64, "x" * 65, "é" * 129 + "!" * 70),
]


@pytest.fixture(scope="module")
def written():
    graph = Graph()
    made = directions_of_text(graph, "text", RARITY, DIRECTIONS, "(none)", aliases=["N/A"])
    graph.add("Identity", made, output="made")
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "words",
            [helper.make_tensor_value_info("text", TensorProto.STRING, ["n", 1])],
            [helper.make_tensor_value_info("made", DOUBLE, ["n", len(DIRECTIONS)])],
            initializer=graph.constants,
        ),
        opset_imports=[helper.make_opsetid(name, OPSETS[name]) for name in graph.domains],
        ir_version=10,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return lambda texts: session.run(None, {"text": np.array(texts, dtype=object)[:, None]})[0]


def native(texts):
    return along(count_pieces(texts), RARITY, DIRECTIONS)


def check(written, texts):
    np.testing.assert_allclose(written(texts), native(texts), rtol=1e-12, atol=1e-12 * 5)


def test_edges_alone_and_together(written):
    check(written, EDGES)
    for text in EDGES:
        check(written, [text])


def test_what_is_missing(written):
    np.testing.assert_allclose(written(["", "N/A", "(none)"]), native(["(none)"] * 3), rtol=1e-12)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 10_000])
def test_batches(written, count):
    letters = np.array(list("aAbBcéÉßσςΣ中, .!_19"))
    longest = 40 if count < 100 else 10
    sizes = RNG.integers(0, longest, count)
    check(written, ["x" + "".join(RNG.choice(letters, size)) for size in sizes])


@pytest.mark.slow
def test_every_letter_that_python_knows(written):
    """But those of private use beyond the first plane."""
    known = [
        chr(code)
        for code in range(0x110000)
        if (kind := unicodedata.category(chr(code))) not in ("Cn", "Cs")
        and not (kind == "Co" and code > 0xFFFF)
    ]
    check(written, ["x" + "".join(known[i : i + 30]) for i in range(0, len(known), 30)])
    mixed = RNG.permutation(known)
    check(written, ["x" + "".join(mixed[i : i + 30]) for i in range(0, len(known), 30)])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_text_in_a_table(library):
    frames = pytest.importorskip(library)
    pytest.importorskip("skrub")
    note = [f"{'Late ÉTÉ 逾期'[: 4 + i % 9]} number {i * 7919 % 1009}" for i in range(60)]
    note[::7] = [None, "N/A", "  "] * 3
    rows = frames.DataFrame({"x": np.arange(60.0), "note": note})
    made = make_pipeline(default_features(rows), StandardScaler(), LogisticRegression())
    made.fit(rows, np.arange(60) % 3 == 0)
    session = onnxruntime.InferenceSession(to_onnx(made).SerializeToString())
    inputs = {name: np.array(rows[name], dtype=object)[:, None] for name in rows.columns}
    inputs["note"][inputs["note"] == None] = ""  # noqa: E711
    scores, label = session.run(["scores", "label"], dict(inputs, x=inputs["x"].astype(float)))
    np.testing.assert_allclose(scores, made.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(label, made.predict(rows))
