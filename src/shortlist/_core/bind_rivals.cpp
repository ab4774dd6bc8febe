// Python access to the loops of the papers' rivals.
#include "arrays.hpp"
#include "average_precision.hpp"
#include "bindings.hpp"
#include "order.hpp"
#include "plane_shares.hpp"
#include "worst_labels.hpp"

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
  m.def(
      "highest",
      [](In<double> scores, Out<std::int64_t> position) {
        const std::size_t n = scores.shape(0), count = position.shape(0);
        if (count > n) check_size("position", position, n);
        check_numbers("scores", scores.data(), n);
        nb::gil_scoped_release release;
        Falling().highest(scores.data(), n, count, position.data());
      },
      "scores"_a, "position"_out);
  m.def(
      "worst_labels",
      [](In<double> positive, In<double> negative, In<double> numerator, In<double> offset,
         Index least, double weight) {
        const std::size_t m = positive.shape(0);
        check_some("positive", m);
        check_some("negative", negative.shape(0));
        check_size("numerator", numerator, m + 1);
        check_size("offset", offset, m + 1);
        check_size("least", least, m + 1);
        check_index("least", least, negative.shape(0) + m + 2);
        check_falling("positive", positive);
        check_falling("negative", negative);
        const LabelLoss loss{numerator.data(), offset.data(), least.data(), weight};
        LabelCounts found;
        {
          nb::gil_scoped_release release;
          found = worst_labels(positive.data(), m, negative.data(), negative.shape(0), loss);
        }
        return nb::make_tuple(found.right, found.wrong);
      },
      "positive"_a, "negative"_a, "numerator"_a, "offset"_a, "least"_in, "weight"_a);
  m.def(
      "plane_shares",
      [](InMatrix<double> product, In<double> loss, Out<double> share, double tolerance,
         std::int64_t max_pivots) {
        const std::size_t n = share.shape(0);
        check_some("share", n);
        check_size("loss", loss, n);
        if (product.shape(0) < n || product.shape(1) < n) check_shape("product", product, n, n);
        nb::gil_scoped_release release;
        PlaneShares(product.data(), product.shape(1), loss.data(), share.data(), n)
            .optimise(tolerance, max_pivots);
      },
      "product"_in, "loss"_a, "share"_out, "tolerance"_a, "max_pivots"_a);
}

}  // namespace shortlist
