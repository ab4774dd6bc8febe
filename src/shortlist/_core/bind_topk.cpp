// Python access to the loops of the top-k problems.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupt.hpp"
#include "topk_blocks.hpp"
#include "topk_proof.hpp"
#include "topk_scores.hpp"

namespace shortlist {

namespace {

// The size of the model and of all that goes with it, for linear scores.
void check_model(const char* name, const TopKDual& dual, const OutMatrix<double>& w, double bias,
                 std::size_t n_rows, std::size_t n_features) {
  if (n_rows != dual.n_rows())
    refuse("the rows must be those of the dual, " + std::to_string(dual.n_rows()) + ", got " +
           std::to_string(n_rows));
  check_shape(name, w, n_features + (bias == 0.0 ? 0 : 1),
              static_cast<std::size_t>(dual.n_classes()));
}

template <typename V>
DenseScores<V> dense(const TopKDual& dual, const InMatrix<V>& x, const char* name,
                     const OutMatrix<double>& w, double bias) {
  check_model(name, dual, w, bias, x.shape(0), x.shape(1));
  return {x.data(), {w.data(), w.shape(1), bias, x.shape(1)}};
}

template <typename V, typename I>
CsrScores<V, I> sparse(const TopKDual& dual, const In<I>& start, const In<I>& column,
                       const In<V>& value, const char* name, const OutMatrix<double>& w,
                       double bias) {
  const std::size_t extra = bias == 0.0 ? 0 : 1;
  if (w.shape(0) < extra) check_size(name, w.shape(0), extra);
  const std::size_t n_features = w.shape(0) - extra;
  const auto x = csr(start, column, value, n_features);
  check_model(name, dual, w, bias, x.n_rows, n_features);
  return {x, {w.data(), w.shape(1), bias, n_features}};
}

template <typename Scores>
std::size_t sweep(TopKDual& dual, Scores scores, const Index& order, bool exact, int longest) {
  check_index("order", order, dual.n_rows());
  nb::gil_scoped_release release;
  return dual.sweep(scores, order.data(), order.shape(0), exact, longest);
}

template <typename Scores>
std::tuple<std::size_t, double> sweep_near(TopKDual& dual, Scores scores, const Index& order,
                                           int longest) {
  check_index("order", order, dual.n_rows());
  if (!dual.has_near()) refuse("call spread or survey before sweep_near");
  nb::gil_scoped_release release;
  double gain = 0.0;
  const std::size_t visits =
      dual.sweep_near(scores, order.data(), order.shape(0), longest, gain);
  return {visits, gain};
}

// The weights of a class side by side: classes x features.
template <typename V>
ClassScores<V> by_class(const TopKDual& dual, const InMatrix<V>& x, const char* name,
                        const OutMatrix<double>& w, double bias) {
  check_shape("x", x, dual.n_rows(), x.shape(1));
  const std::size_t width = x.shape(1) + (bias == 0.0 ? 0 : 1);
  check_shape(name, w, static_cast<std::size_t>(dual.n_classes()), width);
  return {x.data(), w.data(), bias, x.shape(1), width};
}

template <typename Scores>
std::tuple<double, double> evaluate(TopKDual& dual, const Scores& scores, const In<double>& scales,
                                    Out<double>& losses) {
  check_size("losses", losses, scales.shape(0));
  nb::gil_scoped_release release;
  double sums[2] = {0.0, 0.0};
  dual.evaluate(scores, 0, dual.n_rows(), scales.data(), scales.shape(0), losses.data(), sums);
  return {sums[0], sums[1]};
}

template <typename Model>
std::tuple<double, double, double> extrapolate(TopKDual& dual, Model model, double reach) {
  if (!dual.remembers()) refuse("call remember before an extrapolation");
  nb::gil_scoped_release release;
  double out[3] = {0.0, 0.0, 0.0};
  dual.extrapolate(reach, model, out);
  return {out[0], out[1], out[2]};
}

template <typename V>
void bind_topk_dense(nb::class_<TopKDual>& c) {
  c.def(
      "sweep_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, Index order, bool exact,
         int longest) { return sweep(self, dense(self, x, "w", w, bias), order, exact, longest); },
      "x"_in, "w"_out, "bias"_a, "order"_in, "exact"_a, "longest"_a);
  c.def(
      "evaluate_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, In<double> scales,
         Out<double> losses) {
        return evaluate(self, dense(self, x, "w", w, bias), scales, losses);
      },
      "x"_in, "w"_in, "bias"_a, "scales"_a, "losses"_out);
  c.def(
      "propose",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, double gamma,
         OutMatrix<double> sum) {
        const auto scores = dense(self, x, "w", w, bias);
        auto model = dense(self, x, "sum", sum, bias);
        nb::gil_scoped_release release;
        double out[4] = {0.0, 0.0, 0.0, 0.0};
        self.propose(scores, model, gamma, out);
        return std::make_tuple(out[0], out[1], out[2], out[3]);
      },
      "x"_in, "w"_in, "bias"_a, "gamma"_a, "sum"_out);
  c.def(
      "extrapolate_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> sum, double bias, double reach) {
        return extrapolate(self, dense(self, x, "sum", sum, bias), reach);
      },
      "x"_in, "sum"_out, "bias"_a, "reach"_a);
  c.def(
      "sweep_near_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, Index order,
         int longest) {
        return sweep_near(self, by_class(self, x, "w", w, bias), order, longest);
      },
      "x"_in, "w"_out, "bias"_a, "order"_in, "longest"_a);
  c.def(
      "extrapolate_by_class",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> sum, double bias, double reach) {
        return extrapolate(self, by_class(self, x, "sum", sum, bias), reach);
      },
      "x"_in, "sum"_out, "bias"_a, "reach"_a);
  c.def(
      "hessian",
      [](TopKDual& self, InMatrix<V> x, double bias, OutMatrix<double> out) {
        if (!self.has_curvature()) refuse("call propose before hessian");
        const std::size_t width = x.shape(1) + (bias == 0.0 ? 0 : 1);
        const std::size_t side = width * static_cast<std::size_t>(self.n_classes());
        check_shape("x", x, self.n_rows(), x.shape(1));
        check_shape("out", out, side, side);
        nb::gil_scoped_release release;
        self.hessian(x.data(), x.shape(1), bias, out.data());
      },
      "x"_in, "bias"_a, "out"_out);
}

template <typename V, typename I>
void bind_topk_csr(nb::class_<TopKDual>& c) {
  c.def(
      "sweep_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value, OutMatrix<double> w, double bias,
         Index order, bool exact, int longest) {
        return sweep(self, sparse(self, start, column, value, "w", w, bias), order, exact,
                     longest);
      },
      "start"_in, "column"_in, "value"_in, "w"_out, "bias"_a, "order"_in, "exact"_a, "longest"_a);
  c.def(
      "sweep_near_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value, OutMatrix<double> w, double bias,
         Index order, int longest) {
        return sweep_near(self, sparse(self, start, column, value, "w", w, bias), order, longest);
      },
      "start"_in, "column"_in, "value"_in, "w"_out, "bias"_a, "order"_in, "longest"_a);
  c.def(
      "evaluate_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value, OutMatrix<double> w, double bias,
         In<double> scales, Out<double> losses) {
        return evaluate(self, sparse(self, start, column, value, "w", w, bias), scales, losses);
      },
      "start"_in, "column"_in, "value"_in, "w"_in, "bias"_a, "scales"_a, "losses"_out);
  c.def(
      "extrapolate_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value, OutMatrix<double> sum,
         double bias, double reach) {
        const auto model = sparse(self, start, column, value, "sum", sum, bias);
        model.x.check(0, model.x.n_rows);
        return extrapolate(self, model, reach);
      },
      "start"_in, "column"_in, "value"_in, "sum"_out, "bias"_a, "reach"_a);
}

// Scores of all rows, classes x rows, and the kernel rows of some of them from `first` on.
KernelScores kernel_scores(const TopKDual& dual, const OutMatrix<double>& z, const double* kernel,
                           std::size_t first) {
  check_shape("z", z, static_cast<std::size_t>(dual.n_classes()), dual.n_rows());
  return {z.data(), kernel, first, z.shape(1), z.shape(0)};
}

void check_proposal(const TopKDual& dual, const char* caller) {
  if (!dual.has_proposal())
    refuse(std::string("call propose or extrapolate before ") + caller);
}

void bind_dual(nb::module_& m) {
  nb::class_<TopKDual> dual(m, "TopKDual");
  dual.def(
      "__init__",
      [](TopKDual* self, In<double> rho, std::int32_t n_classes, bool pseudo, In<std::int32_t> y,
         In<double> c, In<double> square, In<double> ridge) {
        const std::size_t n = y.shape(0);
        check_some("rho", rho.shape(0));
        if (n_classes < 1) refuse("n_classes must be at least 1, got " + std::to_string(n_classes));
        check_index("y", y, static_cast<std::size_t>(n_classes));
        check_size("c", c, n);
        check_size("square", square, n);
        check_size("ridge", ridge, n);
        new (self) TopKDual(TopKRow(rho.data(), rho.shape(0), n_classes, pseudo), y.data(),
                            c.data(), square.data(), ridge.data(), n);
      },
      "rho"_a, "n_classes"_a, "pseudo"_a, "y"_in, "c"_a, "square"_a, "ridge"_a);
  bind_topk_dense<double>(dual);
  bind_topk_dense<float>(dual);
  bind_topk_csr<double, std::int32_t>(dual);
  bind_topk_csr<double, std::int64_t>(dual);
  bind_topk_csr<float, std::int32_t>(dual);
  bind_topk_csr<float, std::int64_t>(dual);
  dual.def("remember", &TopKDual::remember);
  dual.def(
      "spread",
      [](TopKDual& self, Index offset, std::size_t count) {
        check_size("offset", offset, self.n_rows());
        if (self.n_classes() < 2) refuse("spread needs two classes at least");
        check_some("count", count);
        check_index("offset", offset, static_cast<std::size_t>(self.n_classes()));
        self.spread(offset.data(), count);
      },
      "offset"_in, "count"_a);
  dual.def(
      "survey",
      [](TopKDual& self, OutMatrix<double> z, std::size_t first, std::size_t most,
         In<double> scales, Out<double> losses) {
        if (self.n_classes() < 2) refuse("survey needs two classes at least");
        check_shape("z", z, z.shape(0), static_cast<std::size_t>(self.n_classes()));
        if (first > self.n_rows() || z.shape(0) > self.n_rows() - first)
          refuse("the rows must be among those of the dual, " + std::to_string(self.n_rows()));
        check_size("losses", losses, scales.shape(0));
        nb::gil_scoped_release release;
        double sums[2] = {0.0, 0.0};
        self.survey(z.data(), first, z.shape(0), most, scales.data(), scales.shape(0),
                    losses.data(), sums);
        return std::make_tuple(sums[0], sums[1]);
      },
      "z"_out, "first"_a, "most"_a, "scales"_a, "losses"_out);
  dual.def(
      "accept",
      [](TopKDual& self, double step) {
        check_proposal(self, "accept");
        self.accept(step);
      },
      "step"_a);
  dual.def(
      "sweep_kernel",
      [](TopKDual& self, InMatrix<double> kernel, std::size_t first, OutMatrix<double> z,
         Index order, bool exact, int longest) {
        const auto scores = kernel_scores(self, z, kernel.data(), first);
        check_shape("kernel", kernel, kernel.shape(0), self.n_rows());
        for (std::size_t s = 0; s < order.shape(0); ++s) {
          const auto i = static_cast<std::size_t>(order.data()[s]);
          if (i < first || i - first >= kernel.shape(0))
            refuse("order must lie within the rows of kernel, from " + std::to_string(first) +
                   " on, got " + std::to_string(order.data()[s]));
        }
        return sweep(self, scores, order, exact, longest);
      },
      "kernel"_in, "first"_a, "z"_out, "order"_in, "exact"_a, "longest"_a);
  dual.def(
      "evaluate_kernel",
      [](TopKDual& self, OutMatrix<double> z, In<double> scales, Out<double> losses) {
        return evaluate(self, kernel_scores(self, z, nullptr, 0), scales, losses);
      },
      "z"_in, "scales"_a, "losses"_out);
  dual.def(
      "count",
      [](const TopKDual& self, Out<std::int64_t> start) {
        check_size("start", start, self.n_rows() + 1);
        start(0) = 0;
        for (std::size_t i = 0; i < self.n_rows(); ++i) {
          start(i + 1) = start(i) + static_cast<std::int64_t>(self.entries(i).size());
        }
      },
      "start"_out);
  dual.def(
      "read",
      [](const TopKDual& self, Out<std::int32_t> label, Out<double> value) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < self.n_rows(); ++i) count += self.entries(i).size();
        check_size("label", label, count);
        check_size("value", value, count);
        std::size_t at = 0;
        for (std::size_t i = 0; i < self.n_rows(); ++i) {
          for (const DualEntry& e : self.entries(i)) {
            label(at) = e.label;
            value(at++) = e.value;
          }
        }
      },
      "label"_out, "value"_out);
  dual.def(
      "count_proposed",
      [](const TopKDual& self, Out<std::int64_t> start) {
        check_proposal(self, "count_proposed");
        check_size("start", start, self.n_rows() + 1);
        for (std::size_t i = 0; i <= self.n_rows(); ++i) {
          start(i) = static_cast<std::int64_t>(self.proposed_start()[i]);
        }
      },
      "start"_out);
  dual.def(
      "read_proposed",
      [](const TopKDual& self, Out<std::int32_t> label, Out<double> value) {
        check_proposal(self, "read_proposed");
        check_size("label", label, self.proposed().size());
        check_size("value", value, self.proposed().size());
        for (std::size_t at = 0; at < self.proposed().size(); ++at) {
          label(at) = self.proposed()[at].label;
          value(at) = self.proposed()[at].value;
        }
      },
      "label"_out, "value"_out);
}

void bind_proof(nb::module_& m) {
  m.def(
      "topk_losses",
      [](In<double> rho, bool pseudo, OutMatrix<double> z, In<std::int32_t> y, In<double> c,
         In<double> ridge, In<double> slack, Out<double> out) {
        const std::size_t n = z.shape(0);
        check_some("rho", rho.shape(0));
        check_size("y", y, n);
        check_index("y", y, z.shape(1));
        check_size("c", c, n);
        check_size("ridge", ridge, n);
        check_size("slack", slack, n);
        check_size("out", out, n);
        nb::gil_scoped_release release;
        const auto n_classes = static_cast<std::int32_t>(z.shape(1));
        TopKRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        std::vector<DualEntry> alpha;
        Watch watch;
        for (std::size_t i = 0; i < n; ++i) {
          out(i) = smoothed_loss(row, z.data() + i * z.shape(1), y(i), c(i), ridge(i), slack(i),
                                 alpha);
          watch.count(8 * z.shape(1));
        }
      },
      "rho"_a, "pseudo"_a, "z"_out, "y"_in, "c"_a, "ridge"_a, "slack"_a, "out"_out);
  m.def(
      "topk_feasible",
      [](In<double> rho, std::int32_t n_classes, bool pseudo, In<double> c, Index start,
         Out<double> beta, Out<double> missing) {
        const std::size_t n = c.shape(0);
        check_some("rho", rho.shape(0));
        const std::int32_t least = pseudo ? 2 : 1;
        if (n_classes < least)
          refuse("n_classes must be at least " + std::to_string(least) + ", got " +
                 std::to_string(n_classes));
        check_size("start", start, n + 1);
        check_starts("start", start, beta.shape(0));
        check_size("missing", missing, n);
        nb::gil_scoped_release release;
        FeasibleRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        Watch watch;
        for (std::size_t i = 0; i < n; ++i) {
          const auto count = static_cast<std::size_t>(start(i + 1) - start(i));
          missing(i) = row.repair(c(i), beta.data() + start(i), count);
          watch.count(16 * (count + 1));
        }
      },
      "rho"_a, "n_classes"_a, "pseudo"_a, "c"_a, "start"_in, "beta"_out, "missing"_out);
}

}  // namespace

void bind_topk(nb::module_& m) {
  bind_dual(m);
  bind_proof(m);
  m.def(
      "topk_vertices",
      [](In<double> rho, bool pseudo, OutMatrix<double> z, In<std::int32_t> y, In<double> c,
         OutMatrix<std::int32_t> label, OutMatrix<double> value) {
        const std::size_t n = z.shape(0), k = rho.shape(0);
        check_some("rho", k);
        check_some("z", z.shape(1));
        check_size("y", y, n);
        check_index("y", y, z.shape(1));
        check_size("c", c, n);
        check_shape("label", label, n, k);
        check_shape("value", value, n, k);
        nb::gil_scoped_release release;
        const auto n_classes = static_cast<std::int32_t>(z.shape(1));
        TopKRow row(rho.data(), k, n_classes, pseudo);
        std::vector<DualEntry> out;
        double loss = 0.0;
        Watch watch;
        for (std::size_t i = 0; i < n; ++i) {
          double* a = z.data() + i * z.shape(1);
          TopKRow::margins(a, n_classes, y(i));
          loss += c(i) * row.loss(a, y(i));
          row.vertex(a, AllClasses{n_classes}, y(i), c(i), out);
          for (std::size_t p = 0; p < out.size(); ++p) {
            label(i, p) = out[p].label;
            value(i, p) = out[p].value;
          }
          watch.count(8 * z.shape(1));
        }
        return loss;
      },
      "rho"_a, "pseudo"_a, "z"_out, "y"_in, "c"_a, "label"_out, "value"_out);
  m.def(
      "topk_block",
      [](In<double> rho, bool pseudo, In<double> a, std::int32_t y, double q, double c,
         Out<double> beta) {
        check_some("rho", rho.shape(0));
        check_index("y", &y, 0, 1, a.shape(0));
        check_size("beta", beta, a.shape(0));
        const auto n_classes = static_cast<std::int32_t>(a.shape(0));
        TopKRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        std::vector<DualEntry> out;
        row.solve(a.data(), y, q, c, out);
        for (const DualEntry& e : out) beta(e.label) = e.value;
      },
      "rho"_a, "pseudo"_a, "a"_a, "y"_a, "q"_a, "c"_a, "beta"_out);
}

}  // namespace shortlist
