"""Valid calls of the compiled functions of rows on a grid."""

import numpy as np

from .made import Call, N


def grid_calls():
    i64 = np.arange(N)
    grid = {
        "codes": np.ones((N, 8), np.uint8),
        "squares": np.full(N, 8, np.uint32),
        "sums": np.full(N, 8, np.uint32),
    }
    return [
        Call("multiplies_bytes", {}),
        Call(
            "grid_codes",
            {
                "X": np.ones((N, 3), np.float32),
                "lowest": np.zeros(3),
                "step": 0.5,
                "out": np.zeros((N, 4), np.uint8),
                "squares": np.zeros(N, np.uint32),
                "sums": np.zeros(N, np.uint32),
                "errors": np.zeros(N),
            },
            ("out", "squares", "sums", "errors"),
        ),
        Call(
            "grid_entries",
            {
                **grid,
                "rows": i64[:3],
                "columns": i64[:4],
                "scale": 0.1,
                "out": np.zeros((5, 6)),
                "slots": i64[:3],
                "to": i64[:4],
            },
            ("out",),
            ("rows", "columns", "slots", "to"),
        ),
        Call(
            "grid_square",
            {
                **grid,
                "rows": i64[:3],
                "scale": 0.1,
                "out": np.zeros((3, 3)),
                "first": 0,
                "last": 3,
            },
            ("out",),
            ("rows",),
        ),
        Call(
            "add_grid",
            {
                **grid,
                "rows": i64[:3],
                "columns": i64[:4],
                "scale": 0.1,
                "coefficients": np.ones((2, 3)),
                "out": np.zeros((2, 4)),
                "single": False,
            },
            ("out",),
            ("rows", "columns"),
        ),
    ]
