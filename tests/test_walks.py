"""Walks of docs/architecture.md: how many files a fit visits, and no two of them take turns."""

from pathlib import Path

import pytest

from walks import CALLERS, HANDED_OVER, ROOT, walk, walks

pytestmark = pytest.mark.filterwarnings("ignore")
# They must stay walks that one can follow.
MOST = {
    "TopPush": 14,
    "TopPush, kernel": 25,
    "RankSVM": 12,
    "TopKSVC": 13,
    "TransductiveTopK": 11,
    "TopPush on dask": 22,
    "pick": 47,
}


@pytest.mark.parametrize("name", MOST)
def test_a_walk_visits_few_files_and_none_takes_turns(name):
    if name.endswith("dask"):
        pytest.importorskip("dask.array")
    visited = walk(walks()[name])
    assert visited.unexplained() == []
    assert len(visited.files) <= MOST[name], list(visited.files)


def test_explanations_are_of_files_that_exist():
    for name in [*CALLERS, *(name for pair in HANDED_OVER for name in pair)]:
        assert Path(ROOT, name).exists(), name
