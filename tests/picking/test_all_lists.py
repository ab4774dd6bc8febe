"""Terms in every combination, against all lists of a few candidates."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from oracles.lists import all_lists, value_of
from shortlist import pick
from shortlist.picking.terms.clusters import Clusters
from shortlist.picking.terms.selection import InfeasibleError, select
from shortlist.picking.terms.terms import read_order

RNG = np.random.default_rng(5)
K = 4
SAID = dict.fromkeys(
    ("value", "cost", "one_per", "limits", "exclude", "time", "delay", "base_rate", "fill")
)


def table(n):
    return pd.DataFrame(
        {
            "a": RNG.normal(size=n),
            "b": RNG.normal(size=n),
            "amount": RNG.lognormal(2, 1, n),
            "price": RNG.uniform(0.0, 6.0, n),
            "customer": RNG.integers(0, 6, n),
            "region": RNG.choice(["north", "south"], n),
            "size": RNG.choice(["small", "large"], n),
            "day": np.arange(n, dtype=float),
            "done": np.arange(n) % 4 == 3,
        }
    )


H, C = table(120), table(9)
Y = RNG.random(120) < 1 / (1 + np.exp(-2 * H["a"]))
P = RNG.random(9)

# What each term is called, what `pick` is told, and what it means for a list.
TERMS = {
    "value": {"value": "amount"},
    "cost": {"cost": "price"},
    "one per": {"one_per": "customer"},
    "north": {"limits": {"region": {"north": (1, 2)}}},
    "small": {"limits": {"size": {"small": (2, 3), "large": 2}}},
    "exclude": {"exclude": "done"},
    "clusters": {"clusters": 3, "limits": {"cluster": 2}},
    "no fill": {"fill": False},
}
COMBINATIONS = [
    names
    for names in chain.from_iterable(combinations(TERMS, n) for n in range(len(TERMS) + 1))
    # With a value or a cost, lists are not filled anyway.
    if "no fill" not in names or not {"value", "cost"} & set(names)
]


def told(names):
    """Arguments of `pick`; limits of several terms in one."""
    said = {}
    for name in names:
        for key, what in TERMS[name].items():
            said[key] = {**said.get(key, {}), **what} if key == "limits" else what
    return said


LISTS = all_lists(range(9), K)
COLUMNS = [C[name].to_numpy() for name in ("customer", "region", "size", "done")]


def keeps(chosen, names, cluster):
    """Whether a list keeps the terms, read from the columns."""
    customer, region, size, done = (column[chosen].tolist() for column in COLUMNS)
    of_cluster = cluster[chosen].tolist()
    return (
        ("one per" not in names or len(set(customer)) == len(customer))
        and ("north" not in names or 1 <= region.count("north") <= 2)
        and ("small" not in names or 2 <= size.count("small") <= 3)
        and ("small" not in names or size.count("large") <= 2)
        and ("exclude" not in names or not any(done))
        and ("clusters" not in names or all(of_cluster.count(c) <= 2 for c in of_cluster))
    )


def best(gain, names, cluster, fill):
    """Return the value of the best list, None where none keeps the terms."""
    kept = (value_of(gain, rows, fill) for rows in LISTS if keeps(rows, names, cluster))
    return max(kept, default=None)


def usual(names):
    """Each term, every two, and as many as go together."""
    return len(names) <= 2 or len(names) >= len(TERMS) - 2


@pytest.mark.parametrize(
    "names",
    [
        names if usual(names) else pytest.param(names, marks=pytest.mark.slow)
        for names in COMBINATIONS
    ],
    ids=" + ".join,
)
def test_every_combination_of_terms(names):
    said = told(names)
    number = said.pop("clusters", None)
    asked = None if number is None else Clusters(number, Y, None, 0)
    named = None if number is None else "cluster"
    _, _, terms = read_order(H, C, None, asked, cluster=named, **(SAID | said))
    cluster = np.zeros(9, dtype=int)
    if number is not None:
        places = [bound.name for bound in terms.bounds]
        cluster = terms.candidates.groups[places.index("cluster")]
    gain = P * (C["amount"].to_numpy() if "value" in names else 1.0)
    gain = gain - (C["price"].to_numpy() if "cost" in names else 0.0)
    fill = not {"value", "cost", "no fill"} & set(names)
    np.testing.assert_allclose(terms.candidates.gain(P), gain)
    wanted = best(gain, names, cluster, fill)
    if wanted is None:
        with pytest.raises(InfeasibleError):
            terms.budget(K)
        return
    assert terms.budget(K) == K
    found = select(gain, terms.rule(K, terms.candidates), terms.candidates.allowed)
    assert keeps(found, names, cluster)
    assert value_of(gain, found, fill) == wanted


@pytest.mark.filterwarnings("ignore:The list is not better")
@pytest.mark.parametrize(
    ("goal", "timed"),
    [
        ("hits", True),
        ("sum", False),
        pytest.param("hits", False, marks=pytest.mark.slow),
        pytest.param("sum", True, marks=pytest.mark.slow),
    ],
)
def test_the_list_of_pick_is_the_best_of_all_lists(goal, timed, monkeypatch):
    """With value, cost, entities, two groupings and handled rows at once, and a base rate."""
    monkeypatch.setattr("shortlist.picking.terms.replay._FEW_REPLAYS", 5)
    names = ("value", "cost", "one per", "north", "small", "exclude")
    said = told(names) | ({"time": "day", "delay": 2} if timed else {})
    models = {"ridge": Ridge()}
    y = (H["a"] + RNG.normal(size=120)).to_numpy()
    if goal == "hits":
        models, y, said["base_rate"] = {"logistic regression": LogisticRegression()}, Y, 0.2
    alike = np.zeros(9, dtype=int)
    found = pick(H, y, C, K, goal=goal, models=models, cv=3, **said)
    assert keeps(found.selected, names, alike)
    assert value_of(found.gain, found.selected, False) == best(found.gain, names, alike, False)
