// The labels that violate the margin most, for a loss of the right and wrong positives.
//
// With a right and b wrong ones, both the highest of their class, the violation is
//
//   1 - numerator_a / (b + offset_a) + weight (sum of b negatives - sum of the missed positives).
//
// For every a it rises with b while the next negative, a lower score, adds something, and the
// loss adds less and less. What a wrong one adds rises with a, or rises and then falls; so does
// the best b, and a walk from that of the last a takes O(m + n) steps in all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "interrupt.hpp"

namespace shortlist {

struct LabelLoss {
  const double* numerator;
  const double* offset;
  const std::int64_t* least;  // wrong positives that there have to be
  double weight;              // of a unit of score
};

struct LabelCounts {
  std::size_t right, wrong;
};

inline LabelCounts worst_labels(const double* positive, std::size_t m, const double* negative,
                                std::size_t n, const LabelLoss& loss) {
  std::vector<double> wrong_sum(n + 1);
  for (std::size_t b = 0; b < n; ++b) wrong_sum[b + 1] = wrong_sum[b] + negative[b];
  double missed = 0.0;
  for (std::size_t i = m; i-- > 0;) missed += positive[i];
  LabelCounts best{0, 0};
  double most = -std::numeric_limits<double>::infinity();
  Watch watch;
  std::size_t wrong = 0;
  for (std::size_t a = 0; a <= m; ++a) {
    const double numerator = loss.numerator[a], offset = loss.offset[a];
    const std::size_t least = static_cast<std::size_t>(loss.least[a]);
    // Whether one more than b is better. Without a right one any wrong one is a whole loss.
    const auto rises = [&](std::size_t b) {
      const double d = static_cast<double>(b) + offset;
      const double gain = numerator > 0.0 ? numerator / (d * (d + 1.0)) : 0.0;
      return gain + loss.weight * negative[b] > 0.0;
    };
    const std::size_t before = wrong;
    wrong = std::max(std::min(wrong, n), least);
    while (wrong < n && rises(wrong)) ++wrong;
    while (wrong > least && wrong <= n && !rises(wrong - 1)) --wrong;
    watch.count(4 * (1 + std::max(wrong, before) - std::min(wrong, before)));
    if (wrong <= n) {
      const double d = static_cast<double>(wrong) + offset;
      const double lost = 1.0 - (numerator > 0.0 ? numerator / d : 0.0);
      const double value = lost + loss.weight * (wrong_sum[wrong] - missed);
      if (value > most) {
        most = value;
        best = {a, wrong};
      }
    }
    if (a < m) missed -= positive[a];
  }
  return best;
}

}  // namespace shortlist
