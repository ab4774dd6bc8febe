// Python access to the loops of the threshold problems.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "cells.hpp"
#include "duo.hpp"
#include "interrupt.hpp"
#include "projections.hpp"
#include "smo.hpp"

namespace shortlist {

namespace {

// The numbers that pair steps keep, read at the start and written at the end, also of a run
// that was interrupted: [norm2, m, total, bb, bf, scaled, unsettled].
template <typename T>
class PairState {
 public:
  static constexpr std::size_t kSize = 7;

  PairState(double* state, PairProblem<T>& problem, PairSolver<T>& solver)
      : state_(state), problem_(problem), solver_(solver) {
    problem.norm2 = state[0];
    problem.m = state[1];
    problem.total = state[2];
    problem.bb = state[3];
    solver.bf = state[4];
  }
  ~PairState() {
    state_[0] = problem_.norm2;
    state_[1] = problem_.m;
    state_[2] = problem_.total;
    state_[3] = problem_.bb;
    state_[4] = solver_.bf;
    state_[5] = problem_.scaled;
    state_[6] = solver_.unsettled;
  }

 private:
  double* state_;
  PairProblem<T>& problem_;
  PairSolver<T>& solver_;
};

// Rows that two threads share for as long as this lives.
template <typename T>
class Helped {
 public:
  Helped(RowSource<T>& rows, Duo& duo) : rows_(rows) { rows.duo = &duo; }
  ~Helped() { rows_.duo = nullptr; }
  Helped(const Helped&) = delete;
  Helped& operator=(const Helped&) = delete;

 private:
  RowSource<T>& rows_;
};

// Rows of the matrix, in whichever form it is given.
template <typename T>
MatrixRows<T> rows_of(const InMatrix<T>& gram, std::size_t n) {
  if (gram.shape(0) < n || gram.shape(1) < n) check_shape("gram", gram, n, n);
  return {gram.data(), gram.shape(1)};
}
template <typename T>
GaussianRows<T>& rows_of(GaussianRows<T>& gram, std::size_t n) {
  check_size("f", n, gram.size());
  return gram;
}

template <typename T, typename Gram>
void bind_pair_steps(nb::module_& m) {
  m.def(
      "pair_steps",
      [](Gram gram, Out<double> alpha, In<double> ridge, In<double> upper, Out<double> beta,
         In<double> omega, Out<double> f, Out<double> f_beta, Out<double> state, int mode,
         double lin, double price, double eps, std::int64_t max_steps, std::uint64_t seed,
         double loose, std::int64_t patience, std::int64_t work, double goal,
         int threads) -> std::pair<std::int64_t, bool> {
        const std::size_t n = f.shape(0), n_alpha = alpha.shape(0), n_beta = beta.shape(0);
        auto&& rows = rows_of<T>(gram, n);
        if (n_alpha > n) check_size("alpha", alpha, n);
        if (n_beta > n) check_size("beta", beta, n);
        check_size("ridge", ridge, n_alpha);
        check_size("upper", upper, n_alpha);
        check_size("omega", omega, n_beta);
        check_size("f_beta", f_beta, n);
        check_size("state", state, PairState<T>::kSize);
        if (mode < static_cast<int>(Cap::open) || mode > static_cast<int>(Cap::priced))
          refuse("mode must be 0, 1, 2 or 3, got " + std::to_string(mode));
        if (n_alpha + n_beta == 0) return {0, false};
        nb::gil_scoped_release release;
        Duo duo(threads > 1, n);
        const Helped<T> helped(rows, duo);
        PairProblem<T> problem{rows,          n,           n_alpha,      n - n_beta,
                               alpha.data(),  ridge.data(), upper.data(), beta.data(),
                               omega.data(),  f.data(),     f_beta.data(),
                               static_cast<Cap>(mode), lin, price};
        PairSolver<T> solver(problem);
        const PairState<T> keep(state.data(), problem, solver);
        const bool paused = seed ? solver.run_random(max_steps, work, seed)
                                 : solver.run(eps, loose, goal, max_steps, work, patience);
        return {solver.steps, paused};
      },
      "gram"_in, "alpha"_out, "ridge"_a, "upper"_a, "beta"_out, "omega"_a, "f"_out,
      "f_beta"_out, "state"_out, "mode"_a, "lin"_a, "price"_a, "eps"_a, "max_steps"_a,
      "seed"_a = 0, "loose"_a = 0.0,
      "patience"_a = std::numeric_limits<std::int64_t>::max(),
      "work"_a = std::numeric_limits<std::int64_t>::max(), "goal"_a = 0.0, "threads"_a = 1);
}

template <typename T>
void bind_pairs_of(nb::module_& m, const char* rows) {
  nb::class_<GaussianRows<T>>(m, rows)
      .def(
          "__init__",
          [](GaussianRows<T>* self, InMatrix<T> x, In<T> squares, double gamma,
             OutMatrix<T> memory) {
            const std::size_t n = x.shape(0), kept = memory.shape(0);
            check_size("squares", squares, n);
            check_shape("memory", memory, std::max(kept, std::min<std::size_t>(n, 3)), n);
            new (self) GaussianRows<T>(x.data(), squares.data(), n, x.shape(1), gamma,
                                       memory.data(), kept);
          },
          "x"_in, "squares"_in, "gamma"_a, "memory"_out, nb::keep_alive<1, 5>())
      .def(
          "fill",
          [](GaussianRows<T>& self, Index rows, OutMatrix<T> out) {
            check_index("rows", rows, self.size());
            check_shape("out", out, rows.shape(0), self.size());
            for (std::size_t k = 0; k < rows.shape(0); ++k) {
              const T* row = self.row(static_cast<std::size_t>(rows.data()[k]));
              std::copy_n(row, self.size(), out.data() + k * self.size());
            }
          },
          "rows"_in, "out"_out);
  bind_pair_steps<T, GaussianRows<T>&>(m);
  bind_pair_steps<T, InMatrix<T>>(m);
}

}  // namespace

void bind_top(nb::module_& m) {
  bind_pairs_of<float>(m, "GaussianRows32");
  bind_pairs_of<double>(m, "GaussianRows64");
  m.def(
      "cell_moments",
      [](In<double> scores, std::optional<In<double>> weight, In<double> edges,
         OutMatrix<double> out) {
        const std::size_t n_cells = out.shape(1);
        check_shape("out", out, 4, n_cells);
        check_some("out", n_cells);
        check_size("edges", edges, n_cells + 1);
        if (weight) check_size("weight", *weight, scores.shape(0));
        nb::gil_scoped_release release;
        Watch().parts(scores.shape(0), 8, [&](std::size_t first, std::size_t last) {
          cell_moments(scores.data() + first, weight ? weight->data() + first : nullptr,
                       last - first, edges.data(), n_cells, out.data());
        });
      },
      "scores"_in, "weight"_in.none(), "edges"_a, "out"_out);
  m.def(
      "drop",
      [](Out<double> values, Index skipped) {
        check_index("skipped", skipped, values.shape(0));
        for (std::size_t k = 1; k < skipped.shape(0); ++k) {
          if (skipped.data()[k] <= skipped.data()[k - 1]) refuse("skipped must rise");
        }
        nb::gil_scoped_release release;
        drop(values.data(), values.shape(0), skipped.data(), skipped.shape(0));
      },
      "values"_out, "skipped"_in);
  m.def(
      "project_balanced",
      [](In<double> a, std::optional<In<double>> upper, In<double> b,
         std::optional<In<double>> cap, Out<double> alpha, Out<double> beta) {
        const std::size_t n_a = a.shape(0), n_b = b.shape(0);
        check_some("a", n_a);
        check_some("b", n_b);
        if (upper) check_size("upper", *upper, n_a);
        if (cap) check_size("cap", *cap, n_b);
        check_size("alpha", alpha, n_a);
        check_size("beta", beta, n_b);
        // Breakpoints are compared: a NaN among them has no place.
        check_numbers("a", a.data(), n_a);
        check_numbers("b", b.data(), n_b);
        if (upper) check_numbers("upper", upper->data(), n_a);
        if (cap) check_numbers("cap", cap->data(), n_b);
        nb::gil_scoped_release release;
        BalancedProjection(a.data(), upper ? upper->data() : nullptr, n_a, b.data(),
                           cap ? cap->data() : nullptr, n_b)
            .run(alpha.data(), beta.data());
      },
      "a"_a, "upper"_a.none(), "b"_a, "cap"_a.none(), "alpha"_out, "beta"_out);
}

}  // namespace shortlist
