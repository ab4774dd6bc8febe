"""A sample of the whole grid; ``python -m tests.certificate.grid`` runs all of it."""

import pytest

from .grid import EXITS, GRID, KINDS, run

# Every combination meets some kind of data and some exit here or in the other modules.
STEP = 5
SAMPLE = [
    (place, list(KINDS)[number * 7 % len(KINDS)], list(EXITS)[number % len(EXITS)])
    for number, place in enumerate(p for p in GRID if p.storage != "dask")
    if number % STEP == 2
]
CLUSTER = [
    (place, "offset 1e+06", list(EXITS)[number % 2])
    for number, place in enumerate(p for p in GRID if p.storage == "dask")
    if number % 3 == 0
]


@pytest.mark.parametrize(
    ("place", "kind", "way"),
    [
        pytest.param(*case, marks=pytest.mark.slow) if number % 2 else case
        for number, case in enumerate(SAMPLE + CLUSTER)
    ],
    ids=lambda part: str(part).replace(" ", "_"),
)
def test_certificate(place, kind, way, tmp_path):
    if place.solver == "exact":
        pytest.importorskip("pyscipopt")
    run(place, kind, way, tmp_path)
