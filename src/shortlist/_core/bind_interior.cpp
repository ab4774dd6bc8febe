// Python access to the vector loops of an interior step.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interior.hpp"
#include "interrupt.hpp"

namespace shortlist {

namespace {

using Maybe = std::optional<In<double>>;

// Multiplications or so that a row costs: divisions count for several.
constexpr std::size_t kWork = 16;

const double* data(const char* name, const Maybe& values, std::size_t n) {
  if (!values) return nullptr;
  check_size(name, *values, n);
  return values->data();
}

RowGoal goal_of(const In<double>& a, const In<double>& b, const In<double>& weight, double mu,
                const Maybe& da, const Maybe& db, double second) {
  const std::size_t n = a.shape(0);
  check_size("b", b, n);
  check_size("weight", weight, n);
  if (da.has_value() != db.has_value()) refuse("da and db must be given together");
  return {a.data(), b.data(), weight.data(), mu, data("da", da, n), data("db", db, n), second};
}

}  // namespace

void bind_interior(nb::module_& m) {
  m.def(
      "row_weights",
      [](In<double> a, In<double> b, In<double> scores, double sign, double level, Maybe per,
         Maybe extra, Out<double> D, Out<double> residual) {
        const std::size_t n = a.shape(0);
        check_size("b", b, n);
        check_size("scores", scores, n);
        check_size("D", D, n);
        check_size("residual", residual, n);
        const RowWeights row{a.data(), b.data(), scores.data(),        sign,
                             level,    data("per", per, n), data("extra", extra, n)};
        nb::gil_scoped_release release;
        double sum = 0.0;
        Watch().parts(n, kWork, [&](std::size_t first, std::size_t last) {
          sum += row_weights(row, first, last, D.data(), residual.data());
        });
        return sum;
      },
      "a"_a, "b"_a, "scores"_a, "sign"_a, "level"_a, "per"_a.none(), "extra"_a.none(), "D"_out,
      "residual"_out);
  m.def(
      "row_shift",
      [](In<double> a, In<double> b, In<double> weight, double mu, Maybe da, Maybe db,
         double second, Maybe residual, Out<double> shift) {
        const std::size_t n = a.shape(0);
        const RowGoal goal = goal_of(a, b, weight, mu, da, db, second);
        const double* left = data("residual", residual, n);
        check_size("shift", shift, n);
        nb::gil_scoped_release release;
        Watch().parts(n, kWork, [&](std::size_t first, std::size_t last) {
          row_shift(goal, left, first, last, shift.data());
        });
      },
      "a"_a, "b"_a, "weight"_a, "mu"_a, "da"_a.none(), "db"_a.none(), "second"_a,
      "residual"_a.none(), "shift"_out);
  m.def(
      "row_rest",
      [](In<double> a, In<double> b, In<double> weight, double mu, Maybe da, Maybe db,
         double second, In<double> residual, Maybe shift, In<double> D, Out<double> f,
         Out<double> Df) {
        const std::size_t n = a.shape(0);
        const RowGoal goal = goal_of(a, b, weight, mu, da, db, second);
        check_size("residual", residual, n);
        check_size("D", D, n);
        check_size("f", f, n);
        check_size("Df", Df, n);
        const double* moved = data("shift", shift, n);
        nb::gil_scoped_release release;
        double sum = 0.0;
        Watch().parts(n, kWork, [&](std::size_t first, std::size_t last) {
          sum += row_rest(goal, residual.data(), moved, D.data(), first, last, f.data(),
                          Df.data());
        });
        return sum;
      },
      "a"_a, "b"_a, "weight"_a, "mu"_a, "da"_a.none(), "db"_a.none(), "second"_a, "residual"_a,
      "shift"_a.none(), "D"_a, "f"_out, "Df"_out);
  m.def(
      "row_step",
      [](In<double> ds, double sign, double d_level, In<double> D, In<double> f,
         In<double> residual, Maybe h, double dm, Maybe shift, Maybe per, Out<double> da,
         Out<double> db, Out<double> d_extra) {
        const std::size_t n = ds.shape(0);
        check_size("D", D, n);
        check_size("f", f, n);
        check_size("residual", residual, n);
        check_size("da", da, n);
        check_size("db", db, n);
        check_size("d_extra", d_extra, n);
        const RowStep row{ds.data(),           sign, d_level, D.data(), f.data(), residual.data(),
                          data("h", h, n), dm,   data("shift", shift, n), data("per", per, n)};
        nb::gil_scoped_release release;
        Watch().parts(n, kWork, [&](std::size_t first, std::size_t last) {
          row_step(row, first, last, da.data(), db.data(), d_extra.data());
        });
      },
      "ds"_a, "sign"_a, "d_level"_a, "D"_a, "f"_a, "residual"_a, "h"_a.none(), "dm"_a,
      "shift"_a.none(), "per"_a.none(), "da"_out, "db"_out, "d_extra"_out);
  m.def(
      "look_ahead",
      [](In<double> a, In<double> b, In<double> da, In<double> db) {
        const std::size_t n = a.shape(0);
        check_size("b", b, n);
        check_size("da", da, n);
        check_size("db", db, n);
        nb::gil_scoped_release release;
        Outlook out;
        Watch().parts(n, kWork, [&](std::size_t first, std::size_t last) {
          look_ahead(a.data(), b.data(), da.data(), db.data(), first, last, out);
        });
        return std::make_tuple(out.fall_a, out.fall_b, out.linear, out.quadratic);
      },
      "a"_a, "b"_a, "da"_a, "db"_a);
}

}  // namespace shortlist
