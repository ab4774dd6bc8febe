// Python access to the active-set solver, over dense or sparse rows.
#include "active_set.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupt.hpp"
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
    Watch().parts(n_rows, n_features, [&](std::size_t first, std::size_t last) {
      for (std::size_t r = first; r < last; ++r) out[r] = dot(row(r), w, n_features);
    });
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
      : x(csr(start, column, value, features)), start(start), column(column), value(value) {
    x.check(0, x.n_rows);
    n_rows = x.n_rows;
    n_features = features;
  }
  void scores(const double* w, double* out) const override { csr_scores<true>(x, w, out); }
  double score(std::size_t r, const double* w) const override { return csr_score(x, r, w); }
  void add(std::size_t r, double factor, double* w) const override {
    for (I p = x.start[r]; p < x.start[r + 1]; ++p) {
      w[x.column[p]] += factor * static_cast<double>(x.value[p]);
    }
  }
  double inner(std::size_t a, std::size_t b) const override {
    I p = x.start[a], q = x.start[b];
    double sum = 0.0;
    while (p < x.start[a + 1] && q < x.start[b + 1]) {
      if (x.column[p] == x.column[q]) {
        sum += static_cast<double>(x.value[p++]) * static_cast<double>(x.value[q++]);
      } else if (x.column[p] < x.column[q]) {
        ++p;
      } else {
        ++q;
      }
    }
    return sum;
  }
  double stored_values() const override { return static_cast<double>(value.size()); }
  CsrView<V, I> x;
  In<I> start, column;  // keep the memory
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

void create(ActiveSet* self, std::shared_ptr<const RowStore> store, const Index& stored,
            const In<double>& sign, const In<double>& target, const In<double>& upper) {
  const std::size_t n = stored.shape(0);
  check_some("stored", n);
  check_index("stored", stored, store->n_rows);
  check_size("sign", sign, n);
  check_size("target", target, n);
  check_size("upper", upper, n);
  new (self) ActiveSet(std::move(store), copy(stored), copy(sign), copy(target), copy(upper));
}

template <typename V>
void bind_dense(Binding& c) {
  c.def(
      "__init__",
      [](ActiveSet* self, InMatrix<V> X, Index stored, In<double> sign, In<double> target,
         In<double> upper) {
        create(self, std::make_shared<DenseStore<V>>(X), stored, sign, target, upper);
      },
      "X"_in, "stored"_in, "sign"_a, "target"_a, "upper"_a);
}

template <typename V, typename I>
void bind_csr(Binding& c) {
  c.def(
      "__init__",
      [](ActiveSet* self, In<I> start, In<I> column, In<V> value, std::size_t n_features,
         Index stored, In<double> sign, In<double> target, In<double> upper) {
        create(self, std::make_shared<CsrStore<V, I>>(start, column, value, n_features), stored,
               sign, target, upper);
      },
      "start"_in, "column"_in, "value"_in, "n_features"_a, "stored"_in, "sign"_a, "target"_a,
      "upper"_a);
}

void check_row(const ActiveSet& self, std::int64_t row) {
  check_index("row", &row, 0, 1, self.n_rows());
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
  c.def("restore", [](ActiveSet& self) {
    if (!self.has_saved()) refuse("call save before restore");
    self.restore();
  });
  c.def(
      "bound",
      [](ActiveSet& self, std::int64_t row, double upper) {
        check_row(self, row);
        self.bound(static_cast<std::size_t>(row), upper);
      },
      "row"_a, "upper"_a);
  c.def(
      "release",
      [](ActiveSet& self, std::int64_t row) {
        check_row(self, row);
        nb::gil_scoped_release release;
        self.release(static_cast<std::size_t>(row));
      },
      "row"_a);
  c.def(
      "optimise",
      [](ActiveSet& self, double ceiling, std::int64_t max_pivots) {
        nb::gil_scoped_release release;
        return static_cast<int>(self.optimise(ceiling, max_pivots));
      },
      "ceiling"_a, "max_pivots"_a);
}

}  // namespace shortlist
