"""One valid call of every compiled function, to be spoiled argument by argument."""

import numpy as np

from .grid_calls import grid_calls
from .made import Call, D, M, N, csr, dual, gaussian_rows, proposed, spread, swept


def calls():
    rng = np.random.default_rng(1)
    f, g = rng.normal(size=N), rng.normal(size=N)
    x = rng.normal(size=(N, D))
    gram = x @ x.T
    i64 = np.arange(N)
    plan = {
        "start": np.array([0, N // 2, N]),
        "key": np.tile(np.arange(N // 2, dtype=np.int32), 2),
        "role": np.full(N, 3, dtype=np.uint8),
        "row": np.arange(N, dtype=np.int32),
        "weight": np.ones(N),
        "scores": f,
        "width": 0.5,
    }
    rho = np.array([0.5, 0.5])
    y = rng.integers(0, M, N).astype(np.int32)
    W, bias = np.zeros((D, M)), 0.0
    sweep = {"bias": bias, "order": i64, "exact": True, "longest": 3}
    losses = {"scales": np.ones(2), "losses": np.zeros(2)}
    kept = np.zeros(N + 1, np.int64)
    proposed().count_proposed(kept)
    plans = ("start", "key", "role", "row")
    stored = ("start", "column")
    pairs = {
        "gram": gram,
        "alpha": np.full(5, 0.1),
        "ridge": np.zeros(5),
        "upper": np.ones(5),
        "beta": np.full(7, 0.5 / 7),
        "omega": np.ones(7),
        "f": np.zeros(N),
        "f_beta": np.zeros(N),
        "state": np.zeros(7),
        "mode": 0,
        "lin": 1.0,
        "price": 0.0,
        "eps": 1e-6,
        "max_steps": 20,
    }
    point = {"a": np.exp(f), "b": np.exp(g)}
    goal = {**point, "weight": np.ones(N), "mu": 0.1, "da": f, "db": g, "second": 1.0}
    out = [
        Call("check_csr", {**csr(), "n_columns": D}, indices=stored),
        Call("csr_scores", {**csr(), "w": f[:D], "out": np.zeros(N)}, ("out",), stored),
        Call("csr_combine", {**csr(), "v": f, "out": np.zeros(D)}, ("out",), stored),
        Call(
            "csr_combines",
            {**csr(), "v": np.stack([f, g]), "out": np.zeros((D, 2))},
            ("out",),
            stored,
        ),
        Call("csr_gram", {**csr(), "v": f, "out": np.zeros((D, D))}, ("out",), stored),
        Call(
            "dense_scores",
            {"rows": x.astype(np.float32), "w": f[:D], "out": np.zeros(N)},
            ("out",),
        ),
        Call(
            "dense_combine",
            {"rows": x.astype(np.float32), "v": f, "out": np.zeros(D)},
            ("out",),
        ),
        Call("dense_gram", {"rows": x, "v": f, "out": np.zeros((D, D))}, ("out",)),
        Call(
            "row_weights",
            {**point, "scores": f, "sign": 1.0, "level": 0.5, "per": g, "extra": f}
            | {"D": np.zeros(N), "residual": np.zeros(N)},
            ("D", "residual"),
        ),
        Call("row_shift", {**goal, "residual": f, "shift": np.zeros(N)}, ("shift",)),
        Call(
            "row_rest",
            {**goal, "residual": f, "shift": g, "D": f, "f": np.zeros(N), "Df": np.zeros(N)},
            ("f", "Df"),
        ),
        Call(
            "row_step",
            {"ds": f, "sign": -1.0, "d_level": 0.1, "D": g, "f": f, "residual": g, "h": f}
            | {"dm": 0.3, "shift": g, "per": f}
            | {name: np.zeros(N) for name in ("da", "db", "d_extra")},
            ("da", "db", "d_extra"),
        ),
        Call("look_ahead", {**point, "da": f, "db": g}),
        Call(
            "column_ranges",
            {"rows": x, "lowest": np.zeros(D), "highest": np.zeros(D)},
            ("lowest", "highest"),
        ),
        Call("room", {"n_rows": 2, "n_columns": 3, "single": True}),
        Call(
            "add_rows",
            {"rows": gram, "slots": i64[:3], "coefficients": f[:3], "out": np.zeros(N)},
            ("out",),
            ("slots",),
        ),
        Call(
            "gather",
            {
                "source": gram,
                "rows": i64[:3],
                "columns": i64[:4],
                "out": np.zeros((5, 6)),
                "to_rows": i64[:3],
                "to_columns": i64[:4],
            },
            ("out",),
            ("rows", "columns", "to_rows", "to_columns"),
        ),
        Call(
            "mirror",
            {"block": gram[:3, :4].copy(), "out": gram, "rows": i64[:3], "columns": i64[:4]},
            ("out",),
            ("rows", "columns"),
        ),
        Call(
            "centred_rows",
            {
                "X": x.astype(np.float32),
                "rows": i64[:3],
                "centre": np.zeros(D),
                "out": np.zeros((3, D), np.float32),
            },
            ("out",),
            ("rows",),
        ),
        Call(
            "gaussian_entries",
            {
                "inner": np.zeros((3, 4), np.float32),
                "row_squares": np.zeros(3, np.float32),
                "column_squares": np.zeros(4, np.float32),
                "out": np.zeros((5, 6), np.float32),
                "slots": i64[:3],
                "start": 2,
            },
            ("out",),
            ("slots",),
        ),
        Call("makes_products", {}),
        Call(
            "gaussian_block",
            {
                "rows": x[:3].astype(np.float32),
                "row_squares": np.zeros(3, np.float32),
                "columns": x.astype(np.float32),
                "column_squares": np.zeros(N, np.float32),
                "out": np.zeros((5, N + 3), np.float32),
                "slots": i64[:3],
                "start": 2,
            },
            ("out",),
            ("slots",),
        ),
        Call("pair_steps", pairs, ("alpha", "beta", "f", "f_beta", "state")),
        Call(
            "add_gaussian",
            {
                "rows": x[:3],
                "row_squares": np.zeros(3),
                "columns": x,
                "column_squares": np.zeros(N),
                "coefficients": np.ones((2, 3)),
                "out": np.zeros((2, N)),
            },
            ("out",),
        ),
        Call(
            "add_gaussian_both",
            {
                "rows": x[:3],
                "row_squares": np.zeros(3),
                "columns": x,
                "column_squares": np.zeros(N),
                "by_row": np.ones(3),
                "column_sums": np.zeros(N),
                "by_column": np.ones(N),
                "row_sums": np.zeros(3),
            },
            ("column_sums", "row_sums"),
        ),
        *grid_calls(),
        Call(
            "GaussianRows32",
            {
                "x": x.astype(np.float32),
                "squares": np.zeros(N, np.float32),
                "gamma": 0.5,
                "memory": np.zeros((3, N), np.float32),
            },
            ("memory",),
        ),
        Call(
            "GaussianRows64",
            {"x": x, "squares": np.zeros(N), "gamma": 0.5, "memory": np.zeros((3, N))},
            ("memory",),
        ),
        Call(
            "fill", {"rows": i64[:4], "out": np.zeros((4, N))}, ("out",), ("rows",), gaussian_rows
        ),
        Call(
            "cell_moments",
            {
                "scores": f,
                "weight": np.ones(N),
                "edges": np.linspace(-1, 1, 6),
                "out": np.zeros((4, 5)),
            },
            ("out",),
        ),
        Call("drop", {"values": f, "skipped": i64[:3]}, ("values",), ("skipped",)),
        Call(
            "project_balanced",
            {
                "a": f,
                "upper": np.ones(N),
                "b": g[:D],
                "cap": np.ones(D),
                "alpha": np.zeros(N),
                "beta": np.zeros(D),
            },
            ("alpha", "beta"),
        ),
        Call(
            "violation_sums",
            {**plan, **{k: np.zeros(N) for k in ("vertex", "clipped", "curved", "degree")}},
            ("vertex", "clipped", "curved", "degree"),
            plans,
        ),
        Call(
            "partner_sums",
            {**plan, "values": x, "out": np.zeros((N, D))},
            ("out",),
            plans,
        ),
        Call(
            "worst_places",
            {
                "positive": -np.arange(3.0),
                "negative": -np.arange(5.0),
                "place": np.zeros(5, np.int64),
            },
            ("place",),
        ),
        Call(
            "highest",
            {"scores": np.arange(5.0), "position": np.zeros(5, np.int64)},
            ("position",),
        ),
        Call(
            "worst_labels",
            {
                "positive": -np.arange(3.0),
                "negative": -np.arange(5.0),
                "numerator": np.arange(4.0),
                "offset": np.arange(3.0, 7.0),
                "least": np.zeros(4, np.int64),
                "weight": 0.5,
            },
            indices=("least",),
        ),
        Call(
            "plane_shares",
            {
                "product": np.eye(4),
                "loss": np.arange(4.0),
                "share": np.eye(4)[0],
                "tolerance": 1e-9,
                "max_pivots": 10,
            },
            ("share",),
        ),
        Call(
            "topk_vertices",
            {
                "rho": rho,
                "pseudo": False,
                "z": rng.normal(size=(N, M)),
                "y": y,
                "c": np.ones(N),
                "label": np.zeros((N, 2), np.int32),
                "value": np.zeros((N, 2)),
            },
            ("z", "label", "value"),
            ("y",),
        ),
        Call(
            "topk_block",
            {
                "rho": rho,
                "pseudo": False,
                "a": rng.normal(size=M),
                "y": 1,
                "q": 1.0,
                "c": 1.0,
                "beta": np.zeros(M),
            },
            ("beta",),
        ),
        Call(
            "topk_losses",
            {
                "rho": rho,
                "pseudo": False,
                "z": rng.normal(size=(N, M)),
                "y": y,
                "c": np.ones(N),
                "ridge": np.full(N, 0.1),
                "slack": np.zeros(N),
                "out": np.zeros(N),
            },
            ("z", "out"),
            ("y",),
        ),
        Call(
            "topk_feasible",
            {
                "rho": rho,
                "n_classes": M,
                "pseudo": False,
                "c": np.ones(N),
                "start": np.arange(0, 2 * N + 1, 2),
                "beta": rng.random(2 * N),
                "missing": np.zeros(N),
            },
            ("beta", "missing"),
            ("start",),
        ),
        Call("count_proposed", {"start": np.zeros(N + 1, np.int64)}, ("start",), (), proposed),
        Call(
            "read_proposed",
            {"label": np.zeros(kept[-1], np.int32), "value": np.zeros(kept[-1])},
            ("label", "value"),
            (),
            proposed,
        ),
        Call(
            "TopKDual",
            {
                "rho": rho,
                "n_classes": M,
                "pseudo": False,
                "y": y,
                "c": np.ones(N),
                "square": np.ones(N),
                "ridge": np.zeros(N),
            },
            (),
            ("y",),
        ),
        Call("sweep_dense", {"x": x, "w": W, **sweep}, ("w",), ("order",), dual),
        Call("sweep_csr", {**csr(), "w": W, **sweep}, ("w",), (*stored, "order"), dual),
        Call("spread", {"offset": np.zeros(N, np.int64), "count": 2}, (), ("offset",), dual),
        Call(
            "survey",
            {"z": np.zeros((4, M)), "first": 4, "most": 2, **losses},
            ("z", "losses"),
            (),
            dual,
        ),
        Call(
            "sweep_near_dense",
            {"x": x, "w": W.T.copy(), "bias": bias, "order": i64, "longest": 3},
            ("w",),
            ("order",),
            spread,
        ),
        Call(
            "sweep_near_csr",
            {**csr(), "w": W, "bias": bias, "order": i64, "longest": 3},
            ("w",),
            (*stored, "order"),
            spread,
        ),
        Call(
            "extrapolate_by_class",
            {"x": x, "sum": W.T.copy(), "bias": bias, "reach": 1.0},
            ("sum",),
            (),
            swept,
        ),
        Call(
            "sweep_kernel",
            {
                "kernel": gram[4:8].copy(),
                "first": 4,
                "z": np.zeros((M, N)),
                "order": i64[4:8].copy(),
                "exact": True,
                "longest": 3,
            },
            ("z",),
            ("order",),
            dual,
        ),
        Call("evaluate_dense", {"x": x, "w": W, "bias": bias, **losses}, ("losses",), (), dual),
        Call(
            "evaluate_csr",
            {**csr(), "w": W, "bias": bias, **losses},
            ("losses",),
            stored,
            dual,
        ),
        Call("evaluate_kernel", {"z": np.zeros((M, N)), **losses}, ("losses",), (), dual),
        Call(
            "propose",
            {"x": x, "w": W, "bias": bias, "gamma": 1.0, "sum": W},
            ("sum",),
            (),
            dual,
        ),
        Call(
            "extrapolate_dense",
            {"x": x, "sum": W, "bias": bias, "reach": 1.0},
            ("sum",),
            (),
            swept,
        ),
        Call(
            "extrapolate_csr",
            {**csr(), "sum": W, "bias": bias, "reach": 1.0},
            ("sum",),
            stored,
            swept,
        ),
        Call(
            "hessian",
            {"x": x, "bias": bias, "out": np.zeros((D * M, D * M))},
            ("out",),
            (),
            proposed,
        ),
        Call("count", {"start": np.zeros(N + 1, np.int64)}, ("start",), (), dual),
        Call(
            "read",
            {"label": np.zeros(0, np.int32), "value": np.zeros(0)},
            ("label", "value"),
            (),
            dual,
        ),
        Call(
            "ActiveSet",
            {
                "X": x,
                "stored": i64,
                "sign": np.tile([1.0, -1.0], N // 2),
                "target": np.ones(N),
                "upper": np.ones(N),
            },
            (),
            ("stored",),
        ),
        Call(
            "ActiveSet",
            {
                **csr(),
                "n_features": D,
                "stored": i64,
                "sign": np.tile([1.0, -1.0], N // 2),
                "target": np.ones(N),
                "upper": np.ones(N),
            },
            (),
            (*stored, "stored"),
        ),
    ]
    return out


CALLS = calls()
# Without arrays, or with row numbers only: tested by hand.
BARE = {"set_deadline", "late", "remember", "accept", "save", "restore", "bound", "release"}
BARE |= {"optimise", "weights", "multipliers", "value", "intercept", "work"}
