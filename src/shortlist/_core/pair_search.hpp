// Which pair to move: the steepest variables of a kind, and the partner of largest gain.
//
// One pass moves the scores and leaves the slopes of every variable, in the precision of the
// kernel: once for going up, once for going down, and infinite where it cannot. So a search reads
// one number a row. The move itself is computed from the scores, in double.
//
// A running maximum vectorises, its place does not: that is looked up afterwards, in the part of
// the rows that holds it. Of equal values the first counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "clones.hpp"

namespace shortlist {

// Variables of one kind, x of them between 0 and top_factor * top. What their row's coefficient
// gains per unit is the slope, lin + curve_factor * curve * x - f.
struct Kind {
  const double *x, *curve, *top;
  double* f;
  std::size_t n;
  double curve_factor, top_factor, lin;
  bool falls;    // whether x falls as the coefficient rises
  bool bounded;  // whether any has a top
};

// Slopes of the variables whose coefficient can rise, -infinity for others, and of those whose
// coefficient can fall, otherwise infinity. Beside them what their curvature is made of: the
// diagonal of the kernel, and the curve; and the gains of the last search.
template <typename T>
struct Slopes {
  std::vector<T> rise, fall, gains, diagonal, curve;

  Slopes(const double* entries, const double* curves, std::size_t n)
      : rise(n), fall(n), gains(n), diagonal(entries, entries + n), curve(curves, curves + n) {}
};

// What the scores move by: d (up - low), two rows of the kernel.
template <typename T>
struct Shift {
  const T *up, *low;
  double d;
};

template <typename T>
struct Peak {
  T value;
  std::size_t at;
};

// Of the row that is to move: its entries, from the kind's first row on; its slope and its share
// of the curvature; 1 if its coefficient rises, -1 if it falls. Gains are counted in units of
// `reach`, squared, and curvatures in units of `base`: inside the range of single precision.
template <typename T>
struct Mover {
  const T* row;
  double slope, base, sign, reach;
};

constexpr std::size_t kSearched = 256;  // rows of a part in which a peak is looked up
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kFlat = 1e-12;

// Curvatures that rounding has made zero or less.
SHORTLIST_INLINE double positive_curve(double curvature, double size) {
  const double least = kFlat * size + 1e-300;
  return curvature > least ? curvature : least;
}

// Largest of `rise` and smallest of `fall` in one part.
template <typename T>
struct Ends {
  T high, low;
};

template <typename T, bool Falls, bool Bounded, bool Moves>
SHORTLIST_INLINE Ends<T> slopes_loop(const Kind& v, const Shift<T>& by, std::size_t first,
                                     std::size_t last, T* rise, T* fall) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const double *x = v.x, *curve = v.curve, *top = v.top;
  const double lin = v.lin, curve_factor = v.curve_factor, top_factor = v.top_factor, d = by.d;
  double* f = v.f;
  const T *up_row = by.up, *low_row = by.low;
  T high = -kInf, low = kInf;
#pragma omp simd reduction(max : high) reduction(min : low)
  for (std::size_t r = first; r < last; ++r) {
    if (Moves) f[r] += d * (static_cast<double>(up_row[r]) - static_cast<double>(low_row[r]));
    const T s = static_cast<T>(lin + curve_factor * curve[r] * x[r] - f[r]);
    const bool below = !Bounded || x[r] < top_factor * top[r], above = x[r] > 0.0;
    const T up = (Falls ? above : below) ? s : -kInf;
    const T down = (Falls ? below : above) ? s : kInf;
    rise[r] = up;
    fall[r] = down;
    high = up > high ? up : high;
    low = down < low ? down : low;
  }
  return {high, low};
}

template <typename T, bool Moves>
SHORTLIST_INLINE Ends<T> slopes_of(const Kind& v, const Shift<T>& by, std::size_t first,
                                   std::size_t last, T* rise, T* fall) {
  if (v.bounded) {
    return v.falls ? slopes_loop<T, true, true, Moves>(v, by, first, last, rise, fall)
                   : slopes_loop<T, false, true, Moves>(v, by, first, last, rise, fall);
  }
  return v.falls ? slopes_loop<T, true, false, Moves>(v, by, first, last, rise, fall)
                 : slopes_loop<T, false, false, Moves>(v, by, first, last, rise, fall);
}
SHORTLIST_CLONES inline Ends<float> moved_slopes(const Kind& v, const Shift<float>& by,
                                                 std::size_t first, std::size_t last, float* rise,
                                                 float* fall) {
  return slopes_of<float, true>(v, by, first, last, rise, fall);
}
SHORTLIST_CLONES inline Ends<double> moved_slopes(const Kind& v, const Shift<double>& by,
                                                  std::size_t first, std::size_t last,
                                                  double* rise, double* fall) {
  return slopes_of<double, true>(v, by, first, last, rise, fall);
}
SHORTLIST_CLONES inline Ends<float> still_slopes(const Kind& v, std::size_t first,
                                                 std::size_t last, float* rise, float* fall) {
  return slopes_of<float, false>(v, {}, first, last, rise, fall);
}
SHORTLIST_CLONES inline Ends<double> still_slopes(const Kind& v, std::size_t first,
                                                  std::size_t last, double* rise, double* fall) {
  return slopes_of<double, false>(v, {}, first, last, rise, fall);
}

// Place of a value, looked for from `first` on; of one that is not there, a NaN, the first of all.
template <typename T>
std::size_t place_of(const T* values, std::size_t n, T value, std::size_t first) {
  const T* found = std::find(values + first, values + n, value);
  return found == values + n ? 0 : static_cast<std::size_t>(found - values);
}

// Steepest variables whose coefficient can rise (the largest slope) and fall (the smallest).
template <typename T>
struct Steepest {
  Peak<T> up, low;
};

// Scores of the rows [from, n) of a kind moved, and the slopes of all of them.
template <typename T>
Steepest<T> steepest(const Kind& v, const Shift<T>& by, std::size_t from, Slopes<T>& slopes) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  Steepest<T> best{{-kInf, 0}, {kInf, 0}};
  T *rise = slopes.rise.data(), *fall = slopes.fall.data();
  std::size_t part_up = 0, part_low = 0;
  for (std::size_t first = 0, last = 0; first < v.n; first = last) {
    const bool still = first < from;
    last = std::min(first + kSearched, still ? std::min(from, v.n) : v.n);
    const Ends<T> ends = still ? still_slopes(v, first, last, rise, fall)
                               : moved_slopes(v, by, first, last, rise, fall);
    if (ends.high > best.up.value) best.up.value = ends.high, part_up = first;
    if (ends.low < best.low.value) best.low.value = ends.low, part_low = first;
  }
  best.up.at = place_of(rise, v.n, best.up.value, part_up);
  best.low.at = place_of(fall, v.n, best.low.value, part_low);
  return best;
}

template <typename T>
SHORTLIST_INLINE T gains_loop(const Kind& v, const Mover<T>& m, const Slopes<T>& slopes,
                              std::size_t first, std::size_t last, T* gains) {
  constexpr T kLeast = std::max(static_cast<T>(kFlat), std::numeric_limits<T>::epsilon());
  const T *row = m.row, *diagonal = slopes.diagonal.data(), *own = slopes.curve.data();
  // A partner of a row that rises must be able to fall.
  const T* other = m.sign > 0.0 ? slopes.fall.data() : slopes.rise.data();
  const double unit = 1.0 / (m.base > 0.0 ? m.base : 1.0);
  const T factor = static_cast<T>(unit), bend = static_cast<T>(unit * std::abs(v.curve_factor));
  const T scale = static_cast<T>(m.sign / m.reach), slope = static_cast<T>(m.slope);
  T most = T{0};
#pragma omp simd reduction(max : most)
  for (std::size_t r = first; r < last; ++r) {
    const T diff = scale * (slope - other[r]), up = diff > T{0} ? diff : T{0};
    const T sum = T{1} + factor * (diagonal[r] - T{2} * row[r]) + bend * own[r];
    const T gain = up * up / (sum > kLeast ? sum : kLeast);
    gains[r] = gain;
    most = gain > most ? gain : most;
  }
  return most;
}
SHORTLIST_CLONES inline float gains_of(const Kind& v, const Mover<float>& m,
                                       const Slopes<float>& slopes, std::size_t first,
                                       std::size_t last, float* gains) {
  return gains_loop(v, m, slopes, first, last, gains);
}
SHORTLIST_CLONES inline double gains_of(const Kind& v, const Mover<double>& m,
                                        const Slopes<double>& slopes, std::size_t first,
                                        std::size_t last, double* gains) {
  return gains_loop(v, m, slopes, first, last, gains);
}

// The partner with the largest gain; none where it is zero.
template <typename T>
Peak<T> partner_of(const Kind& v, const Mover<T>& m, Slopes<T>& slopes) {
  Peak<T> best{T{0}, 0};
  std::size_t part = 0;
  for (std::size_t first = 0, last = 0; first < v.n; first = last) {
    last = std::min(first + kSearched, v.n);
    const T most = gains_of(v, m, slopes, first, last, slopes.gains.data());
    if (most > best.value) best.value = most, part = first;
  }
  best.at = place_of(slopes.gains.data(), v.n, best.value, part);
  return best;
}

}  // namespace shortlist
