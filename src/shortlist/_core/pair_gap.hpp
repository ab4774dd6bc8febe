// The duality gap of a problem of pair steps in the open mode, restricted to its rows.
//
// At the threshold t, the highest score, with z = lin + t - f and v = z - ridge alpha of an alpha,
//
//   P - D = sum over alpha of (z > 0 ? v^2 / (2 ridge) : ridge alpha^2 / 2 - alpha z)
//           + sum over beta of beta (t - f).
//
// No term is negative. Where the ridge is zero, an alpha has a bound u and its term is
// u max(z, 0) - alpha z.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace shortlist {

// The terms of n alpha at the threshold t, given their slopes.
inline double gap_of_alpha(const double* alpha, const double* slope, const double* ridge,
                           const double* upper, std::size_t n, double t) {
  double sum = 0.0;
  for (std::size_t r = 0; r < n; ++r) {
    const double x = alpha[r], v = slope[r] + t, z = v + ridge[r] * x;
    if (ridge[r] > 0.0) {
      sum += z > 0.0 ? 0.5 * v * v / ridge[r] : x * (0.5 * ridge[r] * x - z);
    } else {
      sum += (z > 0.0 ? upper[r] * z : 0.0) - x * z;
    }
  }
  return sum;
}

// What n beta, whose slopes are their scores with the other sign, tell of the threshold.
struct Weighed {
  double highest, mean, total;  // score; that of beta on average; sum of beta
};
inline Weighed weighed(const double* beta, const double* slope, std::size_t n) {
  double highest = -std::numeric_limits<double>::infinity(), total = 0.0, sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    highest = std::max(highest, -slope[j]);
    total += beta[j];
    sum -= beta[j] * slope[j];
  }
  return {highest, total > 0.0 ? sum / total : highest, total};
}


}  // namespace shortlist
