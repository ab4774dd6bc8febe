"""Walks of docs/architecture.md: how many files a fit visits, and no two of them take turns."""

from pathlib import Path

import pytest

from walks import CALLERS, HANDED_OVER, ROOT, walk, walks

pytestmark = pytest.mark.filterwarnings("ignore")
# A fit and a fit on a cluster must stay walks that one can follow.
MOST = {"TopPush": 15, "TopPush on dask": 24}
FITS = [*MOST, "TopPush, kernel", "RankSVM", "TopKSVC", "TransductiveTopK"]


@pytest.mark.parametrize("name", FITS)
def test_a_fit_visits_few_files_and_none_takes_turns(name):
    if name.endswith("dask"):
        pytest.importorskip("dask.array")
    visited = walk(walks()[name])
    assert visited.unexplained() == []
    assert len(visited.files) <= MOST.get(name, 30), visited.files


def test_explanations_are_of_files_that_exist():
    for name in [*CALLERS, *(name for pair in HANDED_OVER for name in pair)]:
        assert Path(ROOT, name).exists(), name
