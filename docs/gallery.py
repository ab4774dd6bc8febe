"""Draw the gallery of displays from the real data that scikit-learn carries.

Run ``python docs/gallery.py``; the pictures go to ``docs/gallery/``.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from shortlist import BudgetClassifier, TopPush
from shortlist.display import (
    BudgetDisplay,
    ConvergenceDisplay,
    PrecisionRecallDisplay,
    ScoreDensityDisplay,
    TopListDisplay,
)
from shortlist.metrics import scorer

TARGET = Path(__file__).parent / "gallery"
BUDGET = 80


def save(name: str, figure: Any) -> None:
    """Write one small picture: 64 colours are enough for lines and text."""
    buffer = BytesIO()
    figure.savefig(buffer, dpi=100)
    Image.open(buffer).convert("RGB").quantize(64).save(TARGET / f"{name}.png", optimize=True)
    plt.close(figure)


def tuned(model: Any) -> GridSearchCV:
    """Choose C by the precision of the first 8 % of the list."""
    pipeline = Pipeline([("scale", MinMaxScaler()), ("model", model)])
    return GridSearchCV(
        pipeline, {"model__C": np.logspace(-4, 2, 7)}, scoring=scorer("precision_at_8%")
    )


def main() -> None:
    """Find the eights among the handwritten digits, and draw how well it went."""
    TARGET.mkdir(exist_ok=True)
    images, digit = load_digits(return_X_y=True)
    eights = (digit == 8).astype(int)
    X, X_new, y, y_new = train_test_split(
        images, eights, train_size=450, stratify=eights, random_state=0
    )
    models = {
        "TopPush": tuned(TopPush(k=5)),
        "logistic": tuned(LogisticRegression(max_iter=1000)),
        "neighbours": KNeighborsClassifier(15),
    }
    for model in models.values():
        model.fit(X, y)

    top_push = models["TopPush"]
    display = BudgetDisplay.from_estimator(top_push, X_new, y_new, k=BUDGET, random_state=0)
    save("budget", display.figure_)

    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for name, model in models.items():
        BudgetDisplay.from_estimator(
            model, X_new, y_new, confidence=None, curves=["precision", "lift"], name=name, ax=ax
        )
    save("budget_models", figure)

    folds = cross_validate(
        top_push.best_estimator_, images, eights, return_estimator=True, return_indices=True
    )
    save("budget_folds", BudgetDisplay.from_cv_results(folds, images, eights, k=30).figure_)

    save("top_list", TopListDisplay.from_estimator(models, X_new, y_new, k=BUDGET).figure_)

    half = len(y_new) // 2
    careful = BudgetClassifier(FrozenEstimator(top_push), fpr=0.05, confidence=0.95)
    careful.fit(X_new[:half], y_new[:half])
    density = ScoreDensityDisplay.from_estimator(careful, X_new[half:], y_new[half:])
    save("density", density.figure_)

    solvers = {name: TopPush(solver=name) for name in ("newton", "accelerated")}
    for model in solvers.values():
        model.fit(images / 16, eights)
    save("convergence", ConvergenceDisplay.from_estimator(solvers).figure_)

    looks = cycler(color=["#0072B2", "#D55E00", "#009E73"], linestyle=["-", "--", "-."])
    with plt.rc_context({"axes.prop_cycle": looks}):
        figure, ax = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
        for name, model in models.items():
            PrecisionRecallDisplay.from_estimator(model, X_new, y_new, ax=ax, name=name)
    save("precision_recall", figure)


if __name__ == "__main__":
    main()
