"""What calls of the compiled functions are made of: small rows, and objects of the core."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from shortlist import _core


@dataclass
class Call:
    """A function, or a method of what `make` returns, with arguments by name.

    `written` names what is written, `indices` what holds numbers of rows, columns or
    classes, `exact` what may not change its length. Other vectors may be converted.
    """

    name: str
    arguments: dict
    written: tuple = ()
    indices: tuple = ()
    make: object = None

    def __call__(self, **changed):
        target = _core if self.make is None else self.make()
        return getattr(target, self.name)(**{**copied(self.arguments), **changed})

    def arrays(self):
        return {k: v for k, v in self.arguments.items() if isinstance(v, np.ndarray)}


def copied(arguments):
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


N, D, M = 12, 5, 4  # rows, features, classes


def csr(value=np.float64, index=np.int32):
    X = sparse.random(N, D, density=0.4, random_state=0, format="csr")
    return {
        "start": X.indptr.astype(index),
        "column": X.indices.astype(index),
        "value": X.data.astype(value),
    }


def dual():
    rng = np.random.default_rng(3)
    return _core.TopKDual(
        np.array([0.5, 0.5]),
        M,
        False,
        rng.integers(0, M, N).astype(np.int32),
        np.ones(N),
        np.ones(N),
        np.zeros(N),
    )


def swept():
    out = dual()
    x = np.random.default_rng(0).normal(size=(N, D))
    out.remember()
    out.sweep_dense(x, np.zeros((D, M)), 0.0, np.arange(N), True, 3)
    return out


def spread():
    """A dual whose rows know their nearest classes."""
    out = dual()
    out.spread(np.zeros(N, np.int64), 2)
    return out


def gaussian_rows():
    x = np.random.default_rng(0).normal(size=(N, D))
    return _core.GaussianRows64(x, np.square(x).sum(axis=1), 1.0, np.zeros((3, N)))


def proposed():
    out = dual()
    x = np.random.default_rng(0).normal(size=(N, D))
    out.propose(x, np.zeros((D, M)), 0.0, 1.0, np.zeros((D, M)))
    return out


def active_set():
    rng = np.random.default_rng(0)
    out = _core.ActiveSet(
        rng.normal(size=(N, D)),
        np.arange(N),
        np.tile([1.0, -1.0], N // 2),
        np.ones(N),
        np.ones(N),
    )
    out.save()
    return out
