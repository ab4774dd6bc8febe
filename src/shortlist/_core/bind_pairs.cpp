// Python access to the sums over pairs.
#include <nanobind/stl/pair.h>

#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "ranking.hpp"

namespace shortlist {

namespace {

PairPlan pair_plan(const Index& start, const In<std::int32_t>& key, const In<std::uint8_t>& role,
                              const In<std::int32_t>& row) {
  return {start.data(), key.data(), role.data(), row.data(), start.shape(0) - 1};
}

}  // namespace

void bind_pairs(nb::module_& m) {
  m.def(
      "violation_sums",
      [](Index start, In<std::int32_t> key, In<std::uint8_t> role, In<std::int32_t> row, In<double> weight, In<double> scores,
         double width, Out<double> vertex, Out<double> clipped, Out<double> curved,
         Out<double> degree) {
        nb::gil_scoped_release release;
        const auto plan = pair_plan(start, key, role, row);
        ViolationSums sums(plan, weight.data(), width, vertex.data(), clipped.data(),
                                      curved.data(), degree.data());
        PairWalk(plan, weight.data(), width, sums).run(scores.data());
        return std::make_pair(sums.totals.violated, sums.totals.clipped);
      },
      "start"_a, "key"_a, "role"_a, "row"_a, "weight"_a, "scores"_a, "width"_a, "vertex"_a,
      "clipped"_a, "curved"_a, "degree"_a);
  m.def(
      "partner_sums",
      [](Index start, In<std::int32_t> key, In<std::uint8_t> role, In<std::int32_t> row, In<double> weight, In<double> scores,
         double width, InMatrix<double> values, OutMatrix<double> out) {
        nb::gil_scoped_release release;
        const auto plan = pair_plan(start, key, role, row);
        PartnerSums sums(plan, values.data(), out.data(), values.shape(1));
        PairWalk(plan, weight.data(), width, sums).run(scores.data());
      },
      "start"_a, "key"_a, "role"_a, "row"_a, "weight"_a, "scores"_a, "width"_a, "values"_a,
      "out"_a);
}

}  // namespace shortlist
