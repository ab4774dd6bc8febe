"""A few cases of every target of ``python -m tests.fuzz``, and those that found something."""

import importlib

import pytest
from tests.fuzz import TARGETS
from tests.fuzz.__main__ import corpus


@pytest.fixture(scope="module", params=TARGETS)
def target(request):
    module = importlib.import_module(f"tests.fuzz.{request.param}")
    return request.param, module.run, module.prepare()


@pytest.mark.filterwarnings("ignore")
def test_a_few_cases(target):
    name, run, shared = target
    for seed in range({"tables": 2, "models": 6, "reports": 6, "estimators": 8}[name]):
        run(seed, shared)


@pytest.mark.filterwarnings("ignore")
def test_what_found_something_once(target):
    name, run, shared = target
    for known, seed in corpus():
        if known == name:
            run(seed, shared)
