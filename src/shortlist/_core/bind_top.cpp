// Python access to the loops of the threshold problems.
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "bindings.hpp"
#include "cells.hpp"
#include "projections.hpp"
#include "smo.hpp"

namespace shortlist {

namespace {

// `state` holds [norm2, m, total, bb, bf, scaled, violation] and is updated in place. Kernel
// entries are never converted: a silent copy to float32 would cost digits.
template <typename T>
void bind_pair_steps(nb::module_& m) {
  m.def(
      "pair_steps",
      [](InMatrix<T> gram, Out<double> alpha, In<double> ridge, In<double> upper, Out<double> beta, In<double> omega, Out<double> f, Out<double> f_beta,
         Out<double> state, int mode, double lin, double price, double eps, std::int64_t max_steps,
         std::uint64_t seed) -> std::int64_t {
        const std::size_t n = f.shape(0);
        if (gram.shape(0) < n || gram.shape(1) < n || f_beta.shape(0) != n ||
            beta.shape(0) > n || alpha.shape(0) > n || state.shape(0) != 7)
          throw std::invalid_argument("pair_steps: array sizes do not match");
        nb::gil_scoped_release release;
        double* s = state.data();
        PairProblem<T> problem{
            gram.data(),  gram.shape(1), n,        alpha.shape(0), n - beta.shape(0),
            alpha.data(), ridge.data(),  upper.data(), beta.data(), omega.data(),
            f.data(),     f_beta.data(), static_cast<Cap>(mode), lin, price,
            s[0],         s[1],          s[2],     s[3]};
        PairSolver<T> solver(problem);
        solver.bf = s[4];
        const std::int64_t steps =
            seed ? solver.run_random(max_steps, seed) : solver.run(eps, max_steps);
        s[0] = problem.norm2;
        s[1] = problem.m;
        s[2] = problem.total;
        s[3] = problem.bb;
        s[4] = solver.bf;
        s[5] = problem.scaled;
        s[6] = solver.violation;
        return steps;
      },
      "gram"_a.noconvert(), "alpha"_a, "ridge"_a, "upper"_a, "beta"_a, "omega"_a, "f"_a, "f_beta"_a,
      "state"_a, "mode"_a, "lin"_a, "price"_a, "eps"_a, "max_steps"_a, "seed"_a = 0);
}

}  // namespace

void bind_top(nb::module_& m) {
  bind_pair_steps<float>(m);
  bind_pair_steps<double>(m);
  m.def(
      "cell_moments",
      [](In<double> scores, std::optional<In<double>> weight, In<double> edges, OutMatrix<double> out) {
        nb::gil_scoped_release release;
        cell_moments(scores.data(), weight ? weight->data() : nullptr, scores.shape(0),
                                edges.data(), out.shape(1), out.data());
      },
      "scores"_a, "weight"_a.none(), "edges"_a, "out"_a);
  m.def(
      "drop",
      [](Out<double> values, Index skipped) {
        nb::gil_scoped_release release;
        drop(values.data(), values.shape(0), skipped.data(), skipped.shape(0));
      },
      "values"_a, "skipped"_a);
  m.def(
      "project_balanced",
      [](In<double> a, std::optional<In<double>> upper, In<double> b,
         std::optional<In<double>> cap, Out<double> alpha, Out<double> beta) {
        nb::gil_scoped_release release;
        BalancedProjection(a.data(), upper ? upper->data() : nullptr, a.shape(0),
                                      b.data(), cap ? cap->data() : nullptr, b.shape(0))
            .run(alpha.data(), beta.data());
      },
      "a"_a, "upper"_a.none(), "b"_a, "cap"_a.none(), "alpha"_a, "beta"_a);
}

}  // namespace shortlist
