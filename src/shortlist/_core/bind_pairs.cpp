// Python access to the sums over pairs.
#include <nanobind/stl/pair.h>

#include <utility>

#include "arrays.hpp"
#include "bindings.hpp"
#include "ranking.hpp"

namespace shortlist {

namespace {

template <typename I>
PairPlan<I> pair_plan(const Index& start, const In<I>& key, const In<std::uint8_t>& role,
                      const In<I>& row, std::size_t n_rows) {
  const std::size_t n = row.shape(0);
  check_size("key", key, n);
  check_size("role", role, n);
  check_starts("start", start, n);
  check_index("row", row, n_rows);
  for (std::size_t s = 0; s + 1 < start.shape(0); ++s) {
    const auto first = start.data()[s], last = start.data()[s + 1];
    // Items of a segment are numbered in 32 bits.
    if (last - first > std::int64_t{0xffffffff}) refuse("start: a segment has too many items");
    bool falls = false;
    for (auto p = first; p + 1 < last; ++p) falls |= key.data()[p + 1] < key.data()[p];
    if (falls) refuse("key must not fall inside a segment");
  }
  return {start.data(), key.data(), role.data(), row.data(), start.shape(0) - 1};
}

template <typename I>
void bind_sums(nb::module_& m) {
  m.def(
      "violation_sums",
      [](Index start, In<I> key, In<std::uint8_t> role, In<I> row, In<double> weight,
         In<double> scores, double width, Out<double> vertex, Out<double> clipped,
         Out<double> curved, Out<double> degree) {
        const std::size_t n = scores.shape(0);
        const auto plan = pair_plan(start, key, role, row, n);
        check_size("weight", weight, n);
        check_size("vertex", vertex, n);
        check_size("clipped", clipped, n);
        check_size("curved", curved, n);
        check_size("degree", degree, n);
        nb::gil_scoped_release release;
        RoomHeld room;
        ViolationSums<I> sums(plan, weight.data(), width, vertex.data(), clipped.data(),
                              curved.data(), degree.data(), *room);
        PairWalk(plan, weight.data(), width, sums, *room).run(scores.data());
        return std::make_pair(sums.totals.violated, sums.totals.clipped);
      },
      "start"_in, "key"_in, "role"_in, "row"_in, "weight"_a, "scores"_a, "width"_a, "vertex"_out,
      "clipped"_out, "curved"_out, "degree"_out);
  m.def(
      "partner_sums",
      [](Index start, In<I> key, In<std::uint8_t> role, In<I> row, In<double> weight,
         In<double> scores, double width, InMatrix<double> values, OutMatrix<double> out) {
        const std::size_t n = scores.shape(0);
        const auto plan = pair_plan(start, key, role, row, n);
        check_size("weight", weight, n);
        check_shape("values", values, n, values.shape(1));
        check_shape("out", out, n, values.shape(1));
        nb::gil_scoped_release release;
        RoomHeld room;
        PartnerSums<I> sums(plan, values.data(), out.data(), values.shape(1), *room);
        PairWalk(plan, weight.data(), width, sums, *room).run(scores.data());
      },
      "start"_in, "key"_in, "role"_in, "row"_in, "weight"_a, "scores"_a, "width"_a, "values"_in,
      "out"_out);
}

}  // namespace

void bind_pairs(nb::module_& m) {
  bind_sums<std::int32_t>(m);
  bind_sums<std::int64_t>(m);
}

}  // namespace shortlist
