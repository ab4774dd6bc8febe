// Python access to the pair steps. `state` holds [norm2, m, total, bb, bf, scaled,
// violation] and is updated in place. Kernel entries are never converted: a silent copy to
// float32 would cost digits.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "smo.hpp"

namespace shortlist {

namespace nb = nanobind;

template <typename T>
void bind_pairs_of(nb::module_& m) {
  using namespace nb::literals;
  using Gram = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using In = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Square = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  using Slots = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  m.def(
      "pair_steps",
      [](Gram gram, Out alpha, In ridge, In upper, Out beta, In omega, Out f, Out f_beta,
         Out state, int mode, double lin, double price, double eps, std::int64_t max_steps,
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
  m.def(
      "add_rows",
      [](Gram rows, Slots slots, In coefficients, Out out) {
        if (slots.shape(0) != coefficients.shape(0) || out.shape(0) > rows.shape(1))
          throw std::invalid_argument("add_rows: array sizes do not match");
        nb::gil_scoped_release release;
        add_rows(rows.data(), rows.shape(1), slots.data(), coefficients.data(), slots.shape(0),
                 out.data(), out.shape(0));
      },
      "rows"_a.noconvert(), "slots"_a, "coefficients"_a, "out"_a);
  m.def(
      "gather",
      [](Gram source, Slots rows, Slots columns, Square out, Slots to_rows, Slots to_columns) {
        if (rows.shape(0) != to_rows.shape(0) || columns.shape(0) != to_columns.shape(0))
          throw std::invalid_argument("gather: array sizes do not match");
        nb::gil_scoped_release release;
        gather(source.data(), source.shape(1), rows.data(), rows.shape(0), columns.data(),
               columns.shape(0), out.data(), out.shape(1), to_rows.data(), to_columns.data());
      },
      "source"_a.noconvert(), "rows"_a, "columns"_a, "out"_a.noconvert(), "to_rows"_a, "to_columns"_a);
  m.def(
      "mirror",
      [](Gram block, Square out, Slots rows, Slots columns) {
        if (block.shape(0) != rows.shape(0) || block.shape(1) != columns.shape(0))
          throw std::invalid_argument("mirror: array sizes do not match");
        nb::gil_scoped_release release;
        mirror(block.data(), rows.data(), rows.shape(0), columns.data(), columns.shape(0),
               out.data(), out.shape(1));
      },
      "block"_a.noconvert(), "out"_a.noconvert(), "rows"_a, "columns"_a);
}

inline void bind_pairs(nb::module_& m) {
  bind_pairs_of<float>(m);
  bind_pairs_of<double>(m);
}

}  // namespace shortlist
