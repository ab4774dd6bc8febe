// Vector loops of an interior step, see top/sides.py: every row has a multiplier a and a slack
// b, and one look at it does what would be five to ten operations on whole vectors. Where an
// array may be missing it is null, and counts as zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "clones.hpp"

namespace shortlist {

// The compiler may not reorder a sum: many sums side by side, so many that it does not unroll
// the loop over them but vectorises it.
constexpr std::size_t kLanes = 32;

SHORTLIST_INLINE double lane_sum(const double* x, std::size_t n) {
  double sum[kLanes] = {};
  const std::size_t whole = n - n % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) sum[l] += x[i + l];
  }
  for (std::size_t i = whole; i < n; ++i) sum[i - whole] += x[i];
  double total = 0.0;
  for (std::size_t l = 0; l < kLanes; ++l) total += sum[l];
  return total;
}

// Weights D of the rows in the Newton system and residuals of b = sign (s - level) + extra,
// where extra, if it is missing, is `per` times a. Returns the sum of D.
struct RowWeights {
  const double *a, *b, *scores;
  double sign, level;
  const double *per, *extra;
};

SHORTLIST_CLONES inline double row_weights(const RowWeights& row, std::size_t first,
                                           std::size_t last, double* __restrict D,
                                           double* __restrict residual) {
  const double *a = row.a, *b = row.b, *s = row.scores, *per = row.per, *extra = row.extra;
  const double sign = row.sign, level = row.level;
  if (per && extra) {
    for (std::size_t i = first; i < last; ++i) {
      D[i] = a[i] / (b[i] + per[i] * a[i]);
      residual[i] = sign * (s[i] - level) + extra[i] - b[i];
    }
  } else if (per) {
    for (std::size_t i = first; i < last; ++i) {
      const double slack = per[i] * a[i];
      D[i] = a[i] / (b[i] + slack);
      residual[i] = sign * (s[i] - level) + slack - b[i];
    }
  } else {
    for (std::size_t i = first; i < last; ++i) {
      D[i] = a[i] / b[i];
      residual[i] = sign * (s[i] - level) + (extra ? extra[i] : 0.0) - b[i];
    }
  }
  return lane_sum(D + first, last - first);
}

// A product a b and how it should change: to mu times its weight, less `second` da db.
struct RowGoal {
  const double *a, *b, *weight;
  double mu;
  const double *da, *db;
  double second;
};

template <bool corrected>
SHORTLIST_INLINE double wanted(const RowGoal& goal, std::size_t i) {
  const double to = goal.mu * goal.weight[i];
  return corrected ? to - goal.second * (goal.da[i] * goal.db[i]) : to;
}

// shift = (goal - b residual) / a
template <bool corrected, bool resides>
SHORTLIST_INLINE void shift_loop(const RowGoal& goal, const double* residual, std::size_t first,
                                 std::size_t last, double* __restrict shift) {
  for (std::size_t i = first; i < last; ++i) {
    const double left = resides ? goal.b[i] * residual[i] : 0.0;
    shift[i] = (wanted<corrected>(goal, i) - left) / goal.a[i] - goal.b[i];
  }
}

SHORTLIST_CLONES inline void row_shift(const RowGoal& goal, const double* residual,
                                       std::size_t first, std::size_t last, double* shift) {
  if (goal.da) {
    if (residual) return shift_loop<true, true>(goal, residual, first, last, shift);
    return shift_loop<true, false>(goal, residual, first, last, shift);
  }
  if (residual) return shift_loop<false, true>(goal, residual, first, last, shift);
  shift_loop<false, false>(goal, residual, first, last, shift);
}

// f = goal / a - residual - shift and D f. Returns the sum of D f.
template <bool corrected, bool shifted>
SHORTLIST_INLINE void rest_loop(const RowGoal& goal, const double* residual, const double* shift,
                                const double* D, std::size_t first, std::size_t last,
                                double* __restrict f, double* __restrict Df) {
  for (std::size_t i = first; i < last; ++i) {
    const double apart = residual[i] + (shifted ? shift[i] : 0.0);
    f[i] = wanted<corrected>(goal, i) / goal.a[i] - goal.b[i] - apart;
    Df[i] = D[i] * f[i];
  }
}

SHORTLIST_CLONES inline double row_rest(const RowGoal& goal, const double* residual,
                                        const double* shift, const double* D, std::size_t first,
                                        std::size_t last, double* f, double* Df) {
  if (goal.da && shift) {
    rest_loop<true, true>(goal, residual, shift, D, first, last, f, Df);
  } else if (goal.da) {
    rest_loop<true, false>(goal, residual, shift, D, first, last, f, Df);
  } else if (shift) {
    rest_loop<false, true>(goal, residual, shift, D, first, last, f, Df);
  } else {
    rest_loop<false, false>(goal, residual, shift, D, first, last, f, Df);
  }
  return lane_sum(Df + first, last - first);
}

// Changes of a and b, given those of the scores, of the level, and dm of what h answers to:
//
//     da = D (f + h dm - m),  extra = shift - h dm + per da,  db = m + extra + residual
//
// with m = sign (ds - d_level). `d_extra` takes the change of what b has beside the score.
struct RowStep {
  const double *ds;
  double sign, d_level;
  const double *D, *f, *residual, *h;
  double dm;
  const double *shift, *per;
};

template <bool tilted, bool shifted, bool bent>
SHORTLIST_INLINE void step_loop(const RowStep& row, std::size_t first, std::size_t last,
                                double* __restrict da, double* __restrict db,
                                double* __restrict d_extra) {
  for (std::size_t i = first; i < last; ++i) {
    const double m = row.sign * (row.ds[i] - row.d_level);
    const double tilt = tilted ? row.h[i] * row.dm : 0.0;
    const double moved = row.D[i] * (row.f[i] + tilt - m);
    double extra = bent ? row.per[i] * moved : 0.0;
    if (shifted) extra += row.shift[i];
    if (tilted) extra -= tilt;
    da[i] = moved;
    db[i] = m + extra + row.residual[i];
    d_extra[i] = extra;
  }
}

template <bool tilted>
SHORTLIST_INLINE void some_step(const RowStep& row, std::size_t first, std::size_t last,
                                double* da, double* db, double* d_extra) {
  if (row.shift && row.per) {
    step_loop<tilted, true, true>(row, first, last, da, db, d_extra);
  } else if (row.shift) {
    step_loop<tilted, true, false>(row, first, last, da, db, d_extra);
  } else if (row.per) {
    step_loop<tilted, false, true>(row, first, last, da, db, d_extra);
  } else {
    step_loop<tilted, false, false>(row, first, last, da, db, d_extra);
  }
}

SHORTLIST_CLONES inline void row_step(const RowStep& row, std::size_t first, std::size_t last,
                                      double* da, double* db, double* d_extra) {
  if (row.h) return some_step<true>(row, first, last, da, db, d_extra);
  some_step<false>(row, first, last, da, db, d_extra);
}

// Where a step leads: least da / a and db / b, and the sums of a db + b da and of da db.
struct Outlook {
  double fall_a = std::numeric_limits<double>::infinity();
  double fall_b = std::numeric_limits<double>::infinity();
  double linear = 0.0, quadratic = 0.0;
};

SHORTLIST_CLONES inline void look_ahead(const double* a, const double* b, const double* da,
                                        const double* db, std::size_t first, std::size_t last,
                                        Outlook& out) {
  double low_a[kLanes], low_b[kLanes], linear[kLanes] = {}, quadratic[kLanes] = {};
  std::fill_n(low_a, kLanes, std::numeric_limits<double>::infinity());
  std::fill_n(low_b, kLanes, std::numeric_limits<double>::infinity());
  const std::size_t whole = last - (last - first) % kLanes;
  for (std::size_t i = first; i < whole; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double fall_a = da[i + l] / a[i + l], fall_b = db[i + l] / b[i + l];
      low_a[l] = fall_a < low_a[l] ? fall_a : low_a[l];
      low_b[l] = fall_b < low_b[l] ? fall_b : low_b[l];
      linear[l] += a[i + l] * db[i + l] + b[i + l] * da[i + l];
      quadratic[l] += da[i + l] * db[i + l];
    }
  }
  for (std::size_t i = whole; i < last; ++i) {
    const std::size_t l = i - whole;
    low_a[l] = std::min(low_a[l], da[i] / a[i]);
    low_b[l] = std::min(low_b[l], db[i] / b[i]);
    linear[l] += a[i] * db[i] + b[i] * da[i];
    quadratic[l] += da[i] * db[i];
  }
  out.fall_a = std::min(out.fall_a, *std::min_element(low_a, low_a + kLanes));
  out.fall_b = std::min(out.fall_b, *std::min_element(low_b, low_b + kLanes));
  out.linear += lane_sum(linear, kLanes);
  out.quadratic += lane_sum(quadratic, kLanes);
}

}  // namespace shortlist
