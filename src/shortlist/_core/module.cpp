// The module: its families, and the deadline that all of them keep.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interrupt.hpp"

NB_MODULE(_core, m) {
  using namespace shortlist;
  m.def(
      "set_deadline",
      [](std::optional<double> seconds) {
        if (seconds && std::isnan(*seconds)) refuse("seconds must be a number, got nan");
        set_deadline(seconds.value_or(INFINITY));
      },
      "seconds"_a.none());
  m.def("late", [] { return Clock::now() >= deadline; });
  bind_rows(m);
  bind_top(m);
  bind_interior(m);
  bind_topk(m);
  bind_pairs(m);
  bind_transductive(m);
  bind_rivals(m);
}
