// Python access to the active-set solver, over dense or sparse rows.
#include "active_set.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace shortlist {

namespace {

using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

template <typename V>
struct DenseStore final : RowStore {
  explicit DenseStore(InMatrix<V> matrix) : keep(matrix) {
    n_rows = matrix.shape(0);
    n_features = matrix.shape(1);
  }
  const V* row(std::size_t r) const { return keep.data() + r * n_features; }
  void scores(const double* w, double* out) const override {
    for (std::size_t r = 0; r < n_rows; ++r) out[r] = dot(row(r), w, n_features);
  }
  double score(std::size_t r, const double* w) const override {
    return dot(row(r), w, n_features);
  }
  void add(std::size_t r, double factor, double* w) const override {
    const V* x = row(r);
    for (std::size_t i = 0; i < n_features; ++i) w[i] += factor * static_cast<double>(x[i]);
  }
  double inner(std::size_t a, std::size_t b) const override {
    return dot(row(a), row(b), n_features);
  }
  double stored_values() const override { return static_cast<double>(keep.size()); }
  InMatrix<V> keep;
};

template <typename V, typename I>
struct CsrStore final : RowStore {
  CsrStore(In<I> start, In<I> column, In<V> value, std::size_t features)
      : start(start), column(column), value(value) {
    n_rows = start.shape(0) - 1;
    n_features = features;
  }
  void scores(const double* w, double* out) const override {
    csr_scores(
        CsrView<V, I>{start.data(), column.data(), value.data(), n_rows}, w, out);
  }
  double score(std::size_t r, const double* w) const override {
    double sum = 0.0;
    for (I p = start.data()[r]; p < start.data()[r + 1]; ++p) {
      sum += static_cast<double>(value.data()[p]) * w[column.data()[p]];
    }
    return sum;
  }
  void add(std::size_t r, double factor, double* w) const override {
    for (I p = start.data()[r]; p < start.data()[r + 1]; ++p) {
      w[column.data()[p]] += factor * static_cast<double>(value.data()[p]);
    }
  }
  double inner(std::size_t a, std::size_t b) const override {
    const I *col = column.data(), *first = start.data();
    I p = first[a], q = first[b];
    double sum = 0.0;
    while (p < first[a + 1] && q < first[b + 1]) {
      if (col[p] == col[q]) {
        sum += static_cast<double>(value.data()[p++]) * static_cast<double>(value.data()[q++]);
      } else if (col[p] < col[q]) {
        ++p;
      } else {
        ++q;
      }
    }
    return sum;
  }
  double stored_values() const override { return static_cast<double>(value.size()); }
  In<I> start, column;
  In<V> value;
};

template <typename T>
std::vector<T> copy(const In<T>& x) {
  return std::vector<T>(x.data(), x.data() + x.shape(0));
}

Array to_numpy(const std::vector<double>& x) {
  auto* data = new double[x.size()];
  std::copy(x.begin(), x.end(), data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Array(data, {x.size()}, owner);
}

using Binding = nb::class_<ActiveSet>;

template <typename V>
void bind_dense(Binding& c) {
  c.def(
      "__init__",
      [](ActiveSet* self, InMatrix<V> X, Index stored,
         In<double> sign, In<double> target, In<double> upper) {
        new (self) ActiveSet(std::make_shared<DenseStore<V>>(X), copy(stored),
                                        copy(sign), copy(target), copy(upper));
      },
      "X"_a, "stored"_a, "sign"_a, "target"_a, "upper"_a);
}

template <typename V, typename I>
void bind_csr(Binding& c) {
  c.def(
      "__init__",
      [](ActiveSet* self, In<I> start, In<I> column, In<V> value,
         std::size_t n_features, Index stored, In<double> sign,
         In<double> target, In<double> upper) {
        new (self) ActiveSet(
            std::make_shared<CsrStore<V, I>>(start, column, value, n_features), copy(stored),
            copy(sign), copy(target), copy(upper));
      },
      "start"_a, "column"_a, "value"_a, "n_features"_a, "stored"_a, "sign"_a, "target"_a,
      "upper"_a);
}

}  // namespace

void bind_transductive(nb::module_& m) {
  Binding c(m, "ActiveSet");
  bind_dense<double>(c);
  bind_dense<float>(c);
  bind_csr<double, std::int32_t>(c);
  bind_csr<double, std::int64_t>(c);
  bind_csr<float, std::int32_t>(c);
  bind_csr<float, std::int64_t>(c);
  c.def_prop_ro("value", &ActiveSet::value);
  c.def_prop_ro("intercept", &ActiveSet::intercept);
  c.def_prop_ro("work", &ActiveSet::work);
  c.def("weights", [](const ActiveSet& self) { return to_numpy(self.weights()); });
  c.def("multipliers", [](const ActiveSet& self) { return to_numpy(self.multipliers()); });
  c.def("save", &ActiveSet::save);
  c.def("restore", &ActiveSet::restore);
  c.def("bound", &ActiveSet::bound, "row"_a, "upper"_a);
  c.def("release", &ActiveSet::release, "row"_a);
  c.def(
      "optimise",
      [](ActiveSet& self, double ceiling, std::int64_t max_pivots) {
        nb::gil_scoped_release release;
        return static_cast<int>(self.optimise(ceiling, max_pivots));
      },
      "ceiling"_a, "max_pivots"_a);
}

}  // namespace shortlist
