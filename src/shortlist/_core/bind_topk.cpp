// Python access to the loops of the top-k problems.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "topk_blocks.hpp"
#include "topk_proof.hpp"
#include "topk_scores.hpp"

namespace shortlist {

namespace {

template <typename Scores>
std::tuple<double, double> evaluate(TopKDual& dual, const Scores& scores,
                                    const In<double>& scales, Out<double>& losses) {
  double sums[2] = {0.0, 0.0};
  dual.evaluate(scores, 0, dual.n_rows(), scales.data(), scales.shape(0), losses.data(), sums);
  return {sums[0], sums[1]};
}

template <typename Model>
std::tuple<double, double, double> extrapolate(TopKDual& dual, Model model, double reach) {
  double out[3] = {0.0, 0.0, 0.0};
  dual.extrapolate(reach, model, out);
  return {out[0], out[1], out[2]};
}

template <typename V>
DenseScores<V> dense(const InMatrix<V>& x, const OutMatrix<double>& w, double bias) {
  return {x.data(), {w.data(), w.shape(1), bias, x.shape(1)}};
}

template <typename V, typename I>
CsrScores<V, I> csr_rows(const In<I>& start, const In<I>& column,
                         const In<V>& value, const OutMatrix<double>& w, double bias) {
  const std::size_t n_features = w.shape(0) - (bias == 0.0 ? 0 : 1);
  return {{start.data(), column.data(), value.data(), start.shape(0) - 1},
          {w.data(), w.shape(1), bias, n_features}};
}

template <typename V>
void bind_topk_dense(nb::class_<TopKDual>& c) {
  c.def(
      "sweep_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, Index order,
         bool exact, int longest) {
        nb::gil_scoped_release release;
        auto scores = dense(x, w, bias);
        return self.sweep(scores, order.data(), order.shape(0), exact, longest);
      },
      "x"_a, "w"_a, "bias"_a, "order"_a, "exact"_a, "longest"_a);
  c.def(
      "evaluate_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias,
         In<double> scales, Out<double> losses) {
        nb::gil_scoped_release release;
        return evaluate(self, dense(x, w, bias), scales, losses);
      },
      "x"_a, "w"_a, "bias"_a, "scales"_a, "losses"_a);
  c.def(
      "propose",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> w, double bias, double gamma,
         OutMatrix<double> sum) {
        nb::gil_scoped_release release;
        double out[4] = {0.0, 0.0, 0.0, 0.0};
        auto model = dense(x, sum, bias);
        self.propose(dense(x, w, bias), model, gamma, out);
        return std::make_tuple(out[0], out[1], out[2], out[3]);
      },
      "x"_a, "w"_a, "bias"_a, "gamma"_a, "sum"_a);
  c.def(
      "extrapolate_dense",
      [](TopKDual& self, InMatrix<V> x, OutMatrix<double> sum, double bias, double reach) {
        nb::gil_scoped_release release;
        return extrapolate(self, dense(x, sum, bias), reach);
      },
      "x"_a, "sum"_a, "bias"_a, "reach"_a);
  c.def(
      "hessian",
      [](TopKDual& self, InMatrix<V> x, double bias, OutMatrix<double> out) {
        nb::gil_scoped_release release;
        self.hessian(x.data(), x.shape(1), bias, out.data());
      },
      "x"_a, "bias"_a, "out"_a);
}

template <typename V, typename I>
void bind_topk_csr(nb::class_<TopKDual>& c) {
  c.def(
      "sweep_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value,
         OutMatrix<double> w, double bias, Index order, bool exact, int longest) {
        nb::gil_scoped_release release;
        auto scores = csr_rows(start, column, value, w, bias);
        return self.sweep(scores, order.data(), order.shape(0), exact, longest);
      },
      "start"_a, "column"_a, "value"_a, "w"_a, "bias"_a, "order"_a, "exact"_a, "longest"_a);
  c.def(
      "evaluate_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value,
         OutMatrix<double> w, double bias, In<double> scales, Out<double> losses) {
        nb::gil_scoped_release release;
        return evaluate(self, csr_rows(start, column, value, w, bias), scales, losses);
      },
      "start"_a, "column"_a, "value"_a, "w"_a, "bias"_a, "scales"_a, "losses"_a);
  c.def(
      "extrapolate_csr",
      [](TopKDual& self, In<I> start, In<I> column, In<V> value,
         OutMatrix<double> sum, double bias, double reach) {
        nb::gil_scoped_release release;
        return extrapolate(self, csr_rows(start, column, value, sum, bias), reach);
      },
      "start"_a, "column"_a, "value"_a, "sum"_a, "bias"_a, "reach"_a);
}

}  // namespace

void bind_topk(nb::module_& m) {
  nb::class_<TopKDual> dual(m, "TopKDual");
  dual.def(
      "__init__",
      [](TopKDual* self, In<double> rho, std::int32_t n_classes, bool pseudo,
         In<std::int32_t> y, In<double> c, In<double> square,
         In<double> ridge) {
        new (self) TopKDual(TopKRow(rho.data(), rho.shape(0), n_classes, pseudo), y.data(),
                            c.data(), square.data(), ridge.data(), y.shape(0));
      },
      "rho"_a, "n_classes"_a, "pseudo"_a, "y"_a, "c"_a, "square"_a, "ridge"_a);
  bind_topk_dense<double>(dual);
  bind_topk_dense<float>(dual);
  bind_topk_csr<double, std::int32_t>(dual);
  bind_topk_csr<double, std::int64_t>(dual);
  bind_topk_csr<float, std::int32_t>(dual);
  bind_topk_csr<float, std::int64_t>(dual);
  dual.def("remember", &TopKDual::remember);
  dual.def("accept", &TopKDual::accept, "step"_a);
  dual.def(
      "sweep_kernel",
      [](TopKDual& self, InMatrix<double> kernel, std::size_t first, OutMatrix<double> z,
         Index order, bool exact, int longest) {
        nb::gil_scoped_release release;
        KernelScores scores{z.data(), kernel.data(), first, z.shape(1), z.shape(0)};
        return self.sweep(scores, order.data(), order.shape(0), exact, longest);
      },
      "kernel"_a, "first"_a, "z"_a, "order"_a, "exact"_a, "longest"_a);
  dual.def(
      "evaluate_kernel",
      [](TopKDual& self, OutMatrix<double> z, In<double> scales, Out<double> losses) {
        nb::gil_scoped_release release;
        return evaluate(self, KernelScores{z.data(), nullptr, 0, z.shape(1), z.shape(0)}, scales,
                        losses);
      },
      "z"_a, "scales"_a, "losses"_a);
  dual.def("count", [](const TopKDual& self, Out<std::int64_t> start) {
    start(0) = 0;
    for (std::size_t i = 0; i < self.n_rows(); ++i) {
      start(i + 1) = start(i) + static_cast<std::int64_t>(self.entries(i).size());
    }
  });
  dual.def("read", [](const TopKDual& self, Out<std::int32_t> label, Out<double> value) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < self.n_rows(); ++i) {
      for (const DualEntry& e : self.entries(i)) {
        label(at) = e.label;
        value(at++) = e.value;
      }
    }
  });
  dual.def("count_proposed", [](const TopKDual& self, Out<std::int64_t> start) {
    for (std::size_t i = 0; i <= self.n_rows(); ++i) {
      start(i) = static_cast<std::int64_t>(self.proposed_start()[i]);
    }
  });
  dual.def("read_proposed", [](const TopKDual& self, Out<std::int32_t> label, Out<double> value) {
    for (std::size_t at = 0; at < self.proposed().size(); ++at) {
      label(at) = self.proposed()[at].label;
      value(at) = self.proposed()[at].value;
    }
  });
  m.def(
      "topk_vertices",
      [](In<double> rho, bool pseudo, OutMatrix<double> z, In<std::int32_t> y,
         In<double> c, OutMatrix<std::int32_t> label, OutMatrix<double> value) {
        nb::gil_scoped_release release;
        const auto n_classes = static_cast<std::int32_t>(z.shape(1));
        TopKRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        std::vector<DualEntry> out;
        double loss = 0.0;
        for (std::size_t i = 0; i < z.shape(0); ++i) {
          double* a = z.data() + i * z.shape(1);
          TopKRow::margins(a, n_classes, y(i));
          loss += c(i) * row.loss(a, y(i));
          row.vertex(a, y(i), c(i), out);
          for (std::size_t p = 0; p < out.size(); ++p) {
            label(i, p) = out[p].label;
            value(i, p) = out[p].value;
          }
        }
        return loss;
      },
      "rho"_a, "pseudo"_a, "z"_a, "y"_a, "c"_a, "label"_a, "value"_a);
  m.def(
      "topk_block",
      [](In<double> rho, bool pseudo, In<double> a, std::int32_t y, double q,
         double c, Out<double> beta) {
        const auto n_classes = static_cast<std::int32_t>(a.shape(0));
        TopKRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        std::vector<DualEntry> out;
        row.solve(a.data(), y, q, c, out);
        for (const DualEntry& e : out) beta(e.label) = e.value;
      },
      "rho"_a, "pseudo"_a, "a"_a, "y"_a, "q"_a, "c"_a, "beta"_a);
  m.def(
      "topk_losses",
      [](In<double> rho, bool pseudo, OutMatrix<double> z, In<std::int32_t> y, In<double> c,
         In<double> ridge, In<double> slack, Out<double> out) {
        nb::gil_scoped_release release;
        const auto n_classes = static_cast<std::int32_t>(z.shape(1));
        TopKRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        std::vector<DualEntry> alpha;
        for (std::size_t i = 0; i < z.shape(0); ++i) {
          out(i) = smoothed_loss(row, z.data() + i * z.shape(1), y(i), c(i), ridge(i), slack(i),
                                 alpha);
        }
      },
      "rho"_a, "pseudo"_a, "z"_a, "y"_a, "c"_a, "ridge"_a, "slack"_a, "out"_a);
  m.def(
      "topk_feasible",
      [](In<double> rho, std::int32_t n_classes, bool pseudo, In<double> c, Index start,
         Out<double> beta, Out<double> missing) {
        nb::gil_scoped_release release;
        FeasibleRow row(rho.data(), rho.shape(0), n_classes, pseudo);
        for (std::size_t i = 0; i < c.shape(0); ++i) {
          missing(i) = row.repair(c(i), beta.data() + start(i),
                                  static_cast<std::size_t>(start(i + 1) - start(i)));
        }
      },
      "rho"_a, "n_classes"_a, "pseudo"_a, "c"_a, "start"_a, "beta"_a, "missing"_a);
}

}  // namespace shortlist
