"""scikit-learn's checks, each code path once by default."""

import pytest
import sklearn
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

# What depends on the problem and its solver. Everything else asks how parameters and input are
# handled, which one setting of a class answers for all.
OF_THE_FIT = {
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}


def unsound(estimator, check):
    """Whether a check is wrong in the version that is installed.

    scikit-learn 1.6 makes two classes of three by whatever row a shuffle puts first, and so
    compares two problems: its own LogisticRegression fails if it says that it takes two only.
    """
    tags = get_tags(estimator).classifier_tags
    return (
        sklearn.__version__.startswith("1.6.")
        and check.func.__name__.startswith("check_sample_weight_equivalence_on")
        and tags is not None
        and not tags.multi_class
    )


def kind(estimator):
    """Matrices of similarities are input of another kind."""
    return type(estimator), get_tags(estimator).input_tags.pairwise


def checks(*estimators):
    """As `parametrize_with_checks`; further settings of a class repeat some of it when slow."""
    marker = parametrize_with_checks(list(estimators))
    names, cases = marker.args
    first = {kind(estimator): repr(estimator.get_params()) for estimator in reversed(estimators)}

    def case(estimator, check):
        if unsound(estimator, check):
            mark = pytest.mark.skip(reason="compares two problems in scikit-learn 1.6")
            return pytest.param(estimator, check, marks=mark)
        again = repr(estimator.get_params()) != first[kind(estimator)]
        # With keywords it is a check of another precision or of memory that cannot be written.
        if again and (check.func.__name__ not in OF_THE_FIT or check.keywords):
            return pytest.param(estimator, check, marks=pytest.mark.slow)
        return pytest.param(estimator, check)

    cases = [case(*getattr(each, "values", each)) for each in cases]
    return pytest.mark.parametrize(names, cases, **marker.kwargs)
