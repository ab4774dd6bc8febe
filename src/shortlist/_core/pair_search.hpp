// Which pair to move: the steepest variables of a kind, and the partner of largest gain.
//
// A running maximum with its place does not vectorise. Several side by side do: entry r belongs
// to lane r mod kLanes, and the lanes are compared in the end. Of equal values the first counts,
// so that the result does not depend on the lanes.
#pragma once

#include <cstddef>
#include <limits>

#include "clones.hpp"

namespace shortlist {

// Variables of one kind, x of them between 0 and top_factor * top. What their row's coefficient
// gains per unit is the slope, lin + curve_factor * curve * x - f.
struct Kind {
  const double *x, *curve, *top, *f;
  std::size_t n;
  double curve_factor, top_factor, lin;
  bool falls;  // whether x falls as the coefficient rises
  bool even;   // whether all have the same curve and the same diagonal, and no top: read once
};

struct Peak {
  double value;
  std::size_t at;
};

// Steepest variables whose coefficient can rise (the largest slope) and fall (the smallest).
struct Steepest {
  Peak up, low;
};

// The partner with the largest gain / curve; none where the gain is zero.
struct Partner {
  double gain, curve;
  std::size_t at;
};

// Of the row that is to move: its entries, and the diagonal, both from the kind's first row on;
// its slope and its share of the curvature; 1 if its coefficient rises, -1 if it falls.
template <typename T>
struct Mover {
  const T* row;
  const double* diagonal;
  double slope, base, sign;
};

constexpr std::size_t kLanes = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Curvatures that rounding has made zero or less.
SHORTLIST_INLINE double positive_curve(double curvature, double size) {
  const double least = 1e-12 * size + 1e-300;
  return curvature > least ? curvature : least;
}

template <bool Falls, bool Even>
SHORTLIST_INLINE Steepest steepest_loop(const Kind& v) {
  double high[kLanes], low[kLanes], high_at[kLanes], low_at[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) {
    high[k] = -kInfinity;
    low[k] = kInfinity;
    high_at[k] = low_at[k] = 0.0;
  }
  const double *x = v.x, *curve = v.curve, *top = v.top, *f = v.f;
  const double one_curve = v.n ? curve[0] : 0.0;
  const auto look = [&](std::size_t r, std::size_t k, double first) {
    const double s = v.lin + v.curve_factor * (Even ? one_curve : curve[r]) * x[r] - f[r];
    const bool below = Even || x[r] < v.top_factor * top[r], above = x[r] > 0.0;
    const double up = (Falls ? above : below) ? s : -kInfinity;
    const double down = (Falls ? below : above) ? s : kInfinity;
    high_at[k] = up > high[k] ? first : high_at[k];
    high[k] = up > high[k] ? up : high[k];
    low_at[k] = down < low[k] ? first : low_at[k];
    low[k] = down < low[k] ? down : low[k];
  };
  std::size_t r = 0;
  for (; r + kLanes <= v.n; r += kLanes) {
    const double first = static_cast<double>(r);
    for (std::size_t k = 0; k < kLanes; ++k) look(r + k, k, first);
  }
  for (std::size_t k = 0; r + k < v.n; ++k) look(r + k, k, static_cast<double>(r));
  Steepest best{{-kInfinity, 0}, {kInfinity, 0}};
  for (std::size_t k = 0; k < kLanes; ++k) {
    const std::size_t a = static_cast<std::size_t>(high_at[k]) + k;
    const std::size_t b = static_cast<std::size_t>(low_at[k]) + k;
    if (high[k] > best.up.value || (high[k] == best.up.value && a < best.up.at))
      best.up = {high[k], a};
    if (low[k] < best.low.value || (low[k] == best.low.value && b < best.low.at))
      best.low = {low[k], b};
  }
  return best;
}
SHORTLIST_CLONES inline Steepest steepest(const Kind& v) {
  if (v.even) return v.falls ? steepest_loop<true, true>(v) : steepest_loop<false, true>(v);
  return v.falls ? steepest_loop<true, false>(v) : steepest_loop<false, false>(v);
}

template <bool Even, typename T>
SHORTLIST_INLINE Partner partner_loop(const Kind& v, const Mover<T>& m) {
  double gain[kLanes], curve[kLanes], at[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) {
    gain[k] = at[k] = 0.0;
    curve[k] = 1.0;
  }
  const double *x = v.x, *own = v.curve, *top = v.top, *f = v.f, *diagonal = m.diagonal;
  const T* row = m.row;
  const double bend = v.curve_factor < 0.0 ? -v.curve_factor : v.curve_factor;
  // A partner of a row that rises must be able to fall.
  const bool to_top = v.falls == (m.sign > 0.0);
  const double floor = to_top ? -1.0 : 0.0, reach = to_top ? v.top_factor : kInfinity;
  const double one_own = v.n ? own[0] : 0.0, one_diagonal = v.n ? diagonal[0] : 0.0;
  const auto look = [&](std::size_t r, std::size_t k, double first) {
    const double curve_r = Even ? one_own : own[r];
    const double diagonal_r = Even ? one_diagonal : diagonal[r];
    const double s = v.lin + v.curve_factor * curve_r * x[r] - f[r];
    double diff = m.sign * (m.slope - s);
    diff = diff > 0.0 ? diff : 0.0;
    diff = x[r] > floor ? diff : 0.0;
    if (!Even) diff = x[r] < reach * top[r] ? diff : 0.0;
    const double all = m.base + diagonal_r + bend * curve_r - 2.0 * static_cast<double>(row[r]);
    const double c = positive_curve(all, diagonal_r), g = diff * diff;
    const bool better = g * curve[k] > gain[k] * c;
    at[k] = better ? first : at[k];
    curve[k] = better ? c : curve[k];
    gain[k] = better ? g : gain[k];
  };
  std::size_t r = 0;
  for (; r + kLanes <= v.n; r += kLanes) {
    const double first = static_cast<double>(r);
    for (std::size_t k = 0; k < kLanes; ++k) look(r + k, k, first);
  }
  for (std::size_t k = 0; r + k < v.n; ++k) look(r + k, k, static_cast<double>(r));
  Partner best{0.0, 1.0, 0};
  for (std::size_t k = 0; k < kLanes; ++k) {
    const std::size_t place = static_cast<std::size_t>(at[k]) + k;
    const double ours = gain[k] * best.curve, theirs = best.gain * curve[k];
    if (ours > theirs || (ours == theirs && gain[k] > 0.0 && place < best.at))
      best = {gain[k], curve[k], place};
  }
  return best;
}
SHORTLIST_CLONES inline Partner partner_of(const Kind& v, const Mover<float>& m) {
  return v.even ? partner_loop<true>(v, m) : partner_loop<false>(v, m);
}
SHORTLIST_CLONES inline Partner partner_of(const Kind& v, const Mover<double>& m) {
  return v.even ? partner_loop<true>(v, m) : partner_loop<false>(v, m);
}

}  // namespace shortlist
