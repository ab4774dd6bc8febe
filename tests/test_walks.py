"""Walks of docs/architecture.md: how many files a fit visits, and no two of them take turns."""

from pathlib import Path

import pytest

from walks import HANDED_OVER, ROOT, walk, walks

pytestmark = pytest.mark.filterwarnings("ignore")
MOST = {
    "TopPush": 15,
    "TopPush, kernel": 24,
    "RankSVM": 12,
    "TopKSVC": 12,
    "TransductiveTopK": 12,
    "TopPush on dask": 24,
}


@pytest.mark.parametrize("name", MOST)
def test_a_fit_visits_few_files_and_none_takes_turns(name):
    if name.endswith("dask"):
        pytest.importorskip("dask.array")
    visited = walk(walks()[name])
    assert visited.unexplained() == []
    assert len(visited.files) <= MOST[name], visited.files


def test_explanations_are_of_files_that_exist():
    for pair in HANDED_OVER:
        for name in pair:
            assert Path(ROOT, name).exists(), name
