// Which pair to move: the steepest variables of a kind, and the partner of largest gain.
//
// A step reads a few numbers of every row, and on thousands of rows time goes into moving them
// through the caches, not into arithmetic. So of each variable two are kept: its slope, and
// whether it can move; both searches read these.
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

// Which way the coefficient of a row can move: both where it is 0, up where it is 1, down where it
// is -1; neither where it is no number. As wide as the slopes, so that loops vectorise.
template <typename T>
T way_of(bool rises, bool falls) {
  if (!rises && !falls) return std::numeric_limits<T>::quiet_NaN();
  return static_cast<T>(rises - falls);
}

// Those of n variables between zero and scale * limit, of which the coefficient of the row rises
// (sign 1) or falls with them.
template <typename T>
SHORTLIST_INLINE void ways_loop(const double* x, const double* limit, double scale, T sign,
                                std::size_t n, T* way) {
  for (std::size_t r = 0; r < n; ++r) {
    const bool more = x[r] < scale * limit[r], less = x[r] > 0.0;
    const T found = more ? (less ? T{0} : sign) : -sign;
    way[r] = more || less ? found : std::numeric_limits<T>::quiet_NaN();
  }
}
SHORTLIST_CLONES inline void ways_of(const double* x, const double* limit, double scale,
                                     float sign, std::size_t n, float* way) {
  ways_loop(x, limit, scale, sign, n, way);
}
SHORTLIST_CLONES inline void ways_of(const double* x, const double* limit, double scale,
                                     double sign, std::size_t n, double* way) {
  ways_loop(x, limit, scale, sign, n, way);
}

// Slopes of n alpha and of n beta from their scores.
SHORTLIST_CLONES inline void slopes_of_alpha(const double* alpha, const double* ridge,
                                             const double* f, double lin, std::size_t n,
                                             double* slope) {
  for (std::size_t r = 0; r < n; ++r) slope[r] = lin - ridge[r] * alpha[r] - f[r];
}
SHORTLIST_CLONES inline void slopes_of_beta(const double* f, std::size_t n, double* slope) {
  for (std::size_t j = 0; j < n; ++j) slope[j] = -f[j];
}

// Variables of one kind. What a row's coefficient gains per unit is the slope, and, where the
// kind is bent, bend * own * x on top of it; what it adds to the curvature of a move is its size,
// and bend * own. Searches are in the precision of the kernel, slopes in double.
template <typename T>
struct Kind {
  std::vector<double> slope;
  std::vector<T> way, size;
  bool alike = false;  // whether all sizes are equal
  bool bent = false;
  double bend = 0.0;
  const double* x = nullptr;
  std::vector<double> own;

  explicit Kind(std::size_t n) : slope(n), way(n), size(n) {}
  std::size_t n() const { return slope.size(); }
  void find_alike() {
    alike = std::all_of(size.begin(), size.end(), [this](T one) { return one == size[0]; });
  }
};

// What the scores move by: d (up - low), two rows of the kernel.
template <typename T>
struct Shift {
  const T *up, *low;
  double d;
};

// Variables of a kind that one thread looks at: whole parts, but for the last one.
struct Span {
  std::size_t first, last;
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
constexpr std::size_t kAhead = 512;     // rows by which kernel rows are asked for ahead
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kFlat = 1e-12;

// Curvatures that rounding has made zero or less.
SHORTLIST_INLINE double positive_curve(double curvature, double size) {
  const double least = kFlat * size + 1e-300;
  return curvature > least ? curvature : least;
}

// Largest slope of those that can rise and smallest of those that can fall, in one part.
template <typename T>
struct Ends {
  T high, low;
};

template <typename T, bool Bent, bool Moves>
SHORTLIST_INLINE Ends<T> slopes_loop(Kind<T>& v, const Shift<T>& by, std::size_t first,
                                     std::size_t last) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  double* slope = v.slope.data();
  const T* way = v.way.data();
  const double *own = v.own.data(), *x = v.x;
  const double bend = v.bend, d = by.d;
  const T *up_row = by.up, *low_row = by.low;
  T high = -kInf, low = kInf;
#pragma omp simd reduction(max : high) reduction(min : low)
  for (std::size_t r = first; r < last; ++r) {
    if (Moves) slope[r] -= d * (static_cast<double>(up_row[r]) - static_cast<double>(low_row[r]));
    const T s = static_cast<T>(Bent ? slope[r] + bend * own[r] * x[r] : slope[r]);
    const T up = way[r] >= T{0} ? s : -kInf;
    const T down = way[r] <= T{0} ? s : kInf;
    high = up > high ? up : high;
    low = down < low ? down : low;
  }
  return {high, low};
}

template <typename T, bool Moves>
SHORTLIST_INLINE Ends<T> slopes_of(Kind<T>& v, const Shift<T>& by, std::size_t first,
                                   std::size_t last) {
  return v.bent ? slopes_loop<T, true, Moves>(v, by, first, last)
                : slopes_loop<T, false, Moves>(v, by, first, last);
}

// Place of the largest of at most kSearched values, the first of equals.
template <typename T>
SHORTLIST_INLINE std::size_t largest_of(const T* values, std::size_t n) {
  constexpr std::size_t kFew = 32;
  T best = -std::numeric_limits<T>::infinity();
  std::size_t part = 0;
  for (std::size_t first = 0; first < n; first += kFew) {
    const std::size_t last = std::min(first + kFew, n);
    T most = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : most)
    for (std::size_t r = first; r < last; ++r) most = values[r] > most ? values[r] : most;
    if (most > best) best = most, part = first;
  }
  std::size_t at = part;
  for (std::size_t r = part; r < std::min(part + kFew, n); ++r)
    if (values[r] > values[at]) at = r;
  return at;
}

// Row of a part, from `first` on, whose slope is largest of those that rise, or smallest of those
// that fall. What the maximum was is not looked for: another loop may have rounded it otherwise.
template <typename T>
SHORTLIST_INLINE std::size_t place_of(const Kind<T>& v, bool rises, std::size_t first) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const std::size_t n = std::min(kSearched, v.n() - first);
  const double *slope = v.slope.data() + first, *own = v.own.data() + (v.bent ? first : 0);
  const double* x = v.x + (v.bent ? first : 0);
  const T *way = v.way.data() + first, sign = rises ? T{1} : T{-1};
  T values[kSearched];
  for (std::size_t r = 0; r < n; ++r) {
    const double bent = v.bent ? slope[r] + v.bend * own[r] * x[r] : slope[r];
    values[r] = sign * way[r] >= T{0} ? sign * static_cast<T>(bent) : -kInf;
  }
  return first + largest_of(values, n);
}

// Asks for the part of a row that comes after the next one: a processor that reads ahead by itself
// stops where a page of memory ends, and kernel rows are longer.
template <typename T>
SHORTLIST_INLINE void read_ahead(const T* row, std::size_t first, Span span) {
#if defined(__GNUC__)
  constexpr std::size_t kLine = 64 / sizeof(T);
  const std::size_t from = first > span.first ? first + kAhead : first;
  const std::size_t to = std::min(first + kAhead + kSearched, span.last);
  for (std::size_t r = from; r < to; r += kLine) __builtin_prefetch(row + r);
#endif
}

// Steepest variables whose coefficient can rise (the largest slope) and fall (the smallest).
template <typename T>
struct Steepest {
  Peak<T> up, low;
};

// Slopes moved, and the steepest of them.
template <typename T>
SHORTLIST_INLINE Steepest<T> steepest_loop(Kind<T>& v, const Shift<T>& by, Span span) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  Steepest<T> best{{-kInf, 0}, {kInf, 0}};
  std::size_t part_up = span.first, part_low = span.first;
  for (std::size_t first = span.first, last = 0; first < span.last; first = last) {
    last = std::min(first + kSearched, span.last);
    if (by.up) {
      read_ahead(by.up, first, span);
      read_ahead(by.low, first, span);
    }
    const Ends<T> ends = by.up ? slopes_of<T, true>(v, by, first, last)
                               : slopes_of<T, false>(v, by, first, last);
    if (ends.high > best.up.value) best.up.value = ends.high, part_up = first;
    if (ends.low < best.low.value) best.low.value = ends.low, part_low = first;
  }
  if (span.first == span.last) return best;
  best.up.at = place_of(v, true, part_up);
  best.low.at = place_of(v, false, part_low);
  return best;
}
SHORTLIST_CLONES inline Steepest<float> steepest(Kind<float>& v, const Shift<float>& by,
                                                 Span span) {
  return steepest_loop(v, by, span);
}
SHORTLIST_CLONES inline Steepest<double> steepest(Kind<double>& v, const Shift<double>& by,
                                                  Span span) {
  return steepest_loop(v, by, span);
}

// Of two spans, one after the other.
template <typename T>
Steepest<T> steepest_of(const Steepest<T>& a, const Steepest<T>& b) {
  return {b.up.value > a.up.value ? b.up : a.up, b.low.value < a.low.value ? b.low : a.low};
}

template <typename T, bool Bent, bool Alike>
SHORTLIST_INLINE T gains_loop(const Kind<T>& v, const Mover<T>& m, std::size_t first,
                              std::size_t last, T* gains) {
  constexpr T kLeast = std::max(static_cast<T>(kFlat), std::numeric_limits<T>::epsilon());
  const T *row = m.row, *size = v.size.data();
  const double *slope = v.slope.data(), *own = v.own.data(), *x = v.x;
  const T* way = v.way.data();
  // A partner of a row that rises must be able to fall.
  const T needed = static_cast<T>(m.sign);
  const double bend = v.bend, at = m.slope, scale = m.sign / m.reach;
  const double unit = 1.0 / (m.base > 0.0 ? m.base : 1.0);
  const T factor = static_cast<T>(unit), curve = static_cast<T>(unit * bend);
  const T same = v.n() ? T{1} + factor * size[0] : T{0}, twice = T{2} * factor;
  T most = T{0};
#pragma omp simd reduction(max : most)
  for (std::size_t r = first; r < last; ++r) {
    const double other = Bent ? slope[r] + bend * own[r] * x[r] : slope[r];
    const T diff = static_cast<T>(scale * (at - other));
    const T up = needed * way[r] <= T{0} && diff > T{0} ? diff : T{0};
    T sum = (Alike ? same : T{1} + factor * size[r]) - twice * row[r];
    if (Bent) sum += curve * static_cast<T>(own[r]);
    const T gain = up * up / (sum > kLeast ? sum : kLeast);
    gains[r - first] = gain;
    most = gain > most ? gain : most;
  }
  return most;
}
template <typename T>
SHORTLIST_INLINE T gains_in(const Kind<T>& v, const Mover<T>& m, std::size_t first,
                            std::size_t last, T* gains) {
  if (v.bent) return gains_loop<T, true, false>(v, m, first, last, gains);
  return v.alike ? gains_loop<T, false, true>(v, m, first, last, gains)
                 : gains_loop<T, false, false>(v, m, first, last, gains);
}

// The partner with the largest gain; none where it is zero.
template <typename T>
SHORTLIST_INLINE Peak<T> partner_loop(const Kind<T>& v, const Mover<T>& m, Span span) {
  Peak<T> best{T{0}, 0};
  T gains[kSearched];
  std::size_t part = 0;
  for (std::size_t first = span.first, last = 0; first < span.last; first = last) {
    last = std::min(first + kSearched, span.last);
    read_ahead(m.row, first, span);
    const T most = gains_in(v, m, first, last, gains);
    if (most > best.value) best.value = most, part = first;
  }
  if (best.value > T{0}) {
    const std::size_t last = std::min(part + kSearched, span.last);
    gains_in(v, m, part, last, gains);
    best.at = part + largest_of(gains, last - part);
  }
  return best;
}
SHORTLIST_CLONES inline Peak<float> partner_of(const Kind<float>& v, const Mover<float>& m,
                                               Span span) {
  return partner_loop(v, m, span);
}
SHORTLIST_CLONES inline Peak<double> partner_of(const Kind<double>& v, const Mover<double>& m,
                                                Span span) {
  return partner_loop(v, m, span);
}

}  // namespace shortlist
