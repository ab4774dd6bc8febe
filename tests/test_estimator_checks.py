"""scikit-learn's own checks, for every estimator, with no expected failures."""

import pytest
import sklearn

from contract import checks
from shortlist import RankSVM, TopPush, TransductiveTopK
from shortlist.rivals import AATP, InfinitePush, MetricSVM, TransductiveSVM

# In scikit-learn 1.6 the first two merge the classes by whatever row a shuffle puts first, and so
# compare two problems; the last rounds a kernel matrix to integers, which is then no kernel.
UNSOUND_IN_1_6 = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_estimators_dtypes",
)


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
    if sklearn.__version__.startswith("1.6.") and check.func.__name__ in UNSOUND_IN_1_6:
        pytest.skip("unsound in scikit-learn 1.6, mended in 1.7")
    check(estimator)
