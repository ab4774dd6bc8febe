#include "active_set.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

template <typename V>
struct DenseStore final : shortlist::RowStore {
  explicit DenseStore(Matrix<V> matrix) : keep(matrix) {
    n_rows = matrix.shape(0);
    n_features = matrix.shape(1);
  }
  const V* row(std::size_t r) const { return keep.data() + r * n_features; }
  void scores(const double* w, double* out) const override {
    for (std::size_t r = 0; r < n_rows; ++r) out[r] = shortlist::dot(row(r), w, n_features);
  }
  double score(std::size_t r, const double* w) const override {
    return shortlist::dot(row(r), w, n_features);
  }
  void add(std::size_t r, double factor, double* w) const override {
    const V* x = row(r);
    for (std::size_t i = 0; i < n_features; ++i) w[i] += factor * static_cast<double>(x[i]);
  }
  double inner(std::size_t a, std::size_t b) const override {
    return shortlist::dot(row(a), row(b), n_features);
  }
  double stored_values() const override { return static_cast<double>(keep.size()); }
  Matrix<V> keep;
};

template <typename V, typename I>
struct CsrStore final : shortlist::RowStore {
  CsrStore(Vector<I> start, Vector<I> column, Vector<V> value, std::size_t features)
      : start(start), column(column), value(value) {
    n_rows = start.shape(0) - 1;
    n_features = features;
  }
  void scores(const double* w, double* out) const override {
    shortlist::csr_scores(
        shortlist::CsrView<V, I>{start.data(), column.data(), value.data(), n_rows}, w, out);
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
  Vector<I> start, column;
  Vector<V> value;
};

template <typename T>
std::vector<T> copy(const Vector<T>& x) {
  return std::vector<T>(x.data(), x.data() + x.shape(0));
}

Array to_numpy(const std::vector<double>& x) {
  auto* data = new double[x.size()];
  std::copy(x.begin(), x.end(), data);
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Array(data, {x.size()}, owner);
}

using Binding = nb::class_<shortlist::ActiveSet>;

template <typename V>
void bind_dense(Binding& c) {
  c.def(
      "__init__",
      [](shortlist::ActiveSet* self, Matrix<V> X, Vector<std::int64_t> stored,
         Vector<double> sign, Vector<double> target, Vector<double> upper) {
        new (self) shortlist::ActiveSet(std::make_shared<DenseStore<V>>(X), copy(stored),
                                        copy(sign), copy(target), copy(upper));
      },
      "X"_a, "stored"_a, "sign"_a, "target"_a, "upper"_a);
}

template <typename V, typename I>
void bind_csr(Binding& c) {
  c.def(
      "__init__",
      [](shortlist::ActiveSet* self, Vector<I> start, Vector<I> column, Vector<V> value,
         std::size_t n_features, Vector<std::int64_t> stored, Vector<double> sign,
         Vector<double> target, Vector<double> upper) {
        new (self) shortlist::ActiveSet(
            std::make_shared<CsrStore<V, I>>(start, column, value, n_features), copy(stored),
            copy(sign), copy(target), copy(upper));
      },
      "start"_a, "column"_a, "value"_a, "n_features"_a, "stored"_a, "sign"_a, "target"_a,
      "upper"_a);
}

}  // namespace

void bind_active_set(nb::module_& m) {
  using shortlist::ActiveSet;
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
