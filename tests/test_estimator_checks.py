"""scikit-learn's own checks, for every estimator, with no expected failures."""

from contract import checks
from shortlist import RankSVM, TopPush, TransductiveTopK
from shortlist.rivals import AATP, InfinitePush, MetricSVM, TransductiveSVM


@checks(
    TopPush(),
    TopPush(k=0.3, loss="hinge"),
    TopPush(k=2, C=10.0),
    TransductiveTopK(),
    TransductiveTopK(k=3, solver="feasible_direction"),
    RankSVM(),
    RankSVM(loss="squared_hinge", kernel="rbf"),
    RankSVM(solver="fw", tol=1e-2, max_rank_distance=2),
    RankSVM(kernel="precomputed"),
    RankSVM(pairwise_features="exterior"),
    MetricSVM(),
    MetricSVM("precision_at_k", k=2),
    InfinitePush(),
    InfinitePush("l1"),
    AATP(tau=0.3),
    TransductiveSVM(),
)
def test_estimator(estimator, check):
    check(estimator)
