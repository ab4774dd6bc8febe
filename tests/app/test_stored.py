"""Model files of every format and of both ends of the supported versions are read."""

import json
import warnings

import numpy as np
import pytest
from tests.app.stored.make import HERE, scores_of

from shortlist._app._model_file import FORMAT

FILES = sorted(HERE.glob("format-*/*/*.skops"))


def test_there_are_files_of_this_format():
    kept = {path.relative_to(HERE).as_posix() for path in FILES}
    for end in ("oldest", "newest"):
        for name in ("picked", "labels", "outcomes"):
            assert f"format-{FORMAT}/{end}/{name}.skops" in kept


@pytest.mark.parametrize("path", FILES, ids=lambda path: "-".join(path.parts[-3:]))
def test_stored_files_score_as_they_did(path):
    known = json.loads((path.parent / "scores.json").read_text())[path.stem]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = scores_of(path, path.parent / "rows.csv")
    np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-9)
