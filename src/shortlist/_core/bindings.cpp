#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>
#include <vector>

#include "cells.hpp"
#include "gaussian.hpp"
#include "projections.hpp"
#include "ranking.hpp"
#include "rows.hpp"
#include "smo_bindings.hpp"
#include "topk_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename V, typename I>
shortlist::CsrView<V, I> csr(const In<I>& start, const In<I>& column, const In<V>& value) {
  return {start.data(), column.data(), value.data(), start.shape(0) - 1};
}

template <typename V, typename I>
void bind_csr(nb::module_& m) {
  m.def(
      "csr_scores",
      [](In<I> start, In<I> column, In<V> value, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        shortlist::csr_scores(csr(start, column, value), w.data(), out.data());
      },
      "start"_a, "column"_a, "value"_a, "w"_a, "out"_a);
  m.def(
      "csr_combine",
      [](In<I> start, In<I> column, In<V> value, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        shortlist::csr_combine(csr(start, column, value), v.data(), out.data());
      },
      "start"_a, "column"_a, "value"_a, "v"_a, "out"_a);
  m.def(
      "csr_gram",
      [](In<I> start, In<I> column, In<V> value, In<double> v, OutMatrix out) {
        nb::gil_scoped_release release;
        shortlist::csr_gram(csr(start, column, value), v.data(), out.data(), out.shape(1));
      },
      "start"_a, "column"_a, "value"_a, "v"_a, "out"_a);
}

using FloatRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void bind_blocks(nb::module_& m) {
  m.def(
      "dense_scores",
      [](FloatRows rows, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        shortlist::dense_scores(rows.data(), rows.shape(0), rows.shape(1), w.data(), out.data());
      },
      "rows"_a, "w"_a, "out"_a);
  m.def(
      "dense_combine",
      [](FloatRows rows, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        std::vector<double> part(rows.shape(1));
        shortlist::dense_combine(rows.data(), rows.shape(0), rows.shape(1), v.data(), part.data(),
                                 out.data());
      },
      "rows"_a, "v"_a, "out"_a);
  m.def(
      "cell_moments",
      [](In<double> scores, std::optional<In<double>> weight, In<double> edges, OutMatrix out) {
        nb::gil_scoped_release release;
        shortlist::cell_moments(scores.data(), weight ? weight->data() : nullptr, scores.shape(0),
                                edges.data(), out.shape(1), out.data());
      },
      "scores"_a, "weight"_a.none(), "edges"_a, "out"_a);
}

void bind_drop(nb::module_& m) {
  m.def(
      "drop",
      [](Out<double> values, In<std::int64_t> skipped) {
        nb::gil_scoped_release release;
        shortlist::drop(values.data(), values.shape(0), skipped.data(), skipped.shape(0));
      },
      "values"_a, "skipped"_a);
}

using InMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Starts = In<std::int64_t>;
using Index = In<std::int32_t>;
using Roles = In<std::uint8_t>;

shortlist::PairPlan pair_plan(const Starts& start, const Index& key, const Roles& role,
                              const Index& row) {
  return {start.data(), key.data(), role.data(), row.data(), start.shape(0) - 1};
}

void bind_ranking(nb::module_& m) {
  m.def(
      "violation_sums",
      [](Starts start, Index key, Roles role, Index row, In<double> weight, In<double> scores,
         double width, Out<double> vertex, Out<double> clipped, Out<double> curved,
         Out<double> degree) {
        nb::gil_scoped_release release;
        const auto plan = pair_plan(start, key, role, row);
        shortlist::ViolationSums sums(plan, weight.data(), width, vertex.data(), clipped.data(),
                                      curved.data(), degree.data());
        shortlist::PairWalk(plan, weight.data(), width, sums).run(scores.data());
        return std::make_pair(sums.totals.violated, sums.totals.clipped);
      },
      "start"_a, "key"_a, "role"_a, "row"_a, "weight"_a, "scores"_a, "width"_a, "vertex"_a,
      "clipped"_a, "curved"_a, "degree"_a);
  m.def(
      "partner_sums",
      [](Starts start, Index key, Roles role, Index row, In<double> weight, In<double> scores,
         double width, InMatrix values, OutMatrix out) {
        nb::gil_scoped_release release;
        const auto plan = pair_plan(start, key, role, row);
        shortlist::PartnerSums sums(plan, values.data(), out.data(), values.shape(1));
        shortlist::PairWalk(plan, weight.data(), width, sums).run(scores.data());
      },
      "start"_a, "key"_a, "role"_a, "row"_a, "weight"_a, "scores"_a, "width"_a, "values"_a,
      "out"_a);
}

void bind_active_set(nb::module_& m);  // active_set.cpp

NB_MODULE(_core, m) {
  bind_active_set(m);
  bind_blocks(m);
  bind_drop(m);
  bind_ranking(m);
  shortlist::bind_topk(m);
  bind_csr<double, std::int32_t>(m);
  bind_csr<double, std::int64_t>(m);
  bind_csr<float, std::int32_t>(m);
  bind_csr<float, std::int64_t>(m);
  shortlist::bind_gaussian(m);
  shortlist::bind_pairs(m);
  m.def(
      "project_balanced",
      [](In<double> a, std::optional<In<double>> upper, In<double> b,
         std::optional<In<double>> cap, Out<double> alpha, Out<double> beta) {
        nb::gil_scoped_release release;
        shortlist::BalancedProjection(a.data(), upper ? upper->data() : nullptr, a.shape(0),
                                      b.data(), cap ? cap->data() : nullptr, b.shape(0))
            .run(alpha.data(), beta.data());
      },
      "a"_a, "upper"_a.none(), "b"_a, "cap"_a.none(), "alpha"_a, "beta"_a);
}
