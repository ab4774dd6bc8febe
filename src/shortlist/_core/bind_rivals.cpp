// Python access to the loops of the papers' rivals.
#include "arrays.hpp"
#include "average_precision.hpp"
#include "bindings.hpp"

namespace shortlist {

namespace {

void check_falling(const char* name, const In<double>& values) {
  check_numbers(name, values.data(), values.shape(0));
  bool rises = false;
  for (std::size_t i = 0; i + 1 < values.shape(0); ++i) {
    rises |= values.data()[i] < values.data()[i + 1];
  }
  if (rises) refuse(std::string(name) + " must not rise");
}

}  // namespace

void bind_rivals(nb::module_& m) {
  m.def(
      "worst_places",
      [](In<double> positive, In<double> negative, Out<std::int64_t> place) {
        check_some("positive", positive.shape(0));
        check_some("negative", negative.shape(0));
        check_size("place", place, negative.shape(0));
        check_falling("positive", positive);
        check_falling("negative", negative);
        nb::gil_scoped_release release;
        RankedPlaces(positive.data(), positive.shape(0), negative.data(), negative.shape(0))
            .run(place.data());
      },
      "positive"_a, "negative"_a, "place"_out);
}

}  // namespace shortlist
