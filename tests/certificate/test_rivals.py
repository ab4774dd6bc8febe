"""Every certificate of the rivals is true: metrics, storages, nasty data, every exit."""

import itertools
import warnings

import numpy as np
import pytest

from shortlist.rivals import MetricSVM

from .nasty import KINDS, check_certificate, make, some_slow, stored
from .rival_problems import METRICS, metric_objective, random_problem

UNWEIGHTED = [kind for kind in KINDS if "weight" not in kind]
FORMS = list(itertools.product((np.float32, np.float64), ("dense", "csr", "memmap")))


def fitted(data, storage="dense", folder=".", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"k": 6, "max_fpr": 1.0, "min_fpr": 0.0, **options}
        return MetricSVM(**options).fit(*stored(data, storage, folder)[:2])


@pytest.mark.parametrize("number", range(len(UNWEIGHTED)), ids=UNWEIGHTED)
def test_every_metric_on_nasty_data(number, tmp_path):
    for at, metric in enumerate(METRICS):
        dtype, storage = FORMS[(at + number) % len(FORMS)]
        data = make(UNWEIGHTED[number], number, 40).cast(dtype)
        model = fitted(data, storage, tmp_path, metric=metric, tol=1e-3, max_iter=300)
        check_certificate(model.certificate_, metric_objective(model, data))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("way", ["max_iter", "time_limit", "callback"])
def test_every_exit_is_proved(metric, way):
    data = make("plain")
    stops = {
        "max_iter": {"max_iter": 3},
        "time_limit": {"time_limit": 1e-9},
        "callback": {"callback": lambda check: check.iteration >= 2},
    }
    model = fitted(data, metric=metric, tol=1e-12, **stops[way])
    assert model.certificate_.status == {"callback": "stopped"}.get(way, way)
    check_certificate(model.certificate_, metric_objective(model, data))


@pytest.mark.parametrize("metric", METRICS)
def test_an_interrupted_refit_changes_nothing(metric):
    data = make("plain")
    model = fitted(data, metric=metric)
    kept = dict(vars(model))

    def interrupt(check):
        raise InterruptedError

    model.set_params(callback=interrupt)
    with pytest.raises(InterruptedError):
        model.fit(data.X + 1.0, data.y)
    model.set_params(callback=None)
    assert vars(model) == kept


@pytest.mark.parametrize("seed", some_slow(range(30)))
def test_random_problems(seed):
    """All rivals; ``python -m tests.certificate.random_problems`` runs many more."""
    case = random_problem(np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.fit()
    case.check(model)
