// What a proof needs of the top-k problems: the loss of every row at given scores, and dual
// variables that are feasible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "topk.hpp"

namespace shortlist {

// c times the loss of one row at the scores z, which are overwritten, were every other class
// `slack` better than it is. With a ridge r > 0 the smoothed loss
//   min_v c Phi(v) + |z - v|^2 / (2 r) = max_alpha <alpha, e_y - z> - r/2 |alpha|^2,
// from above: the maximiser gives v = z + r alpha, and v = z costs no more than c Phi(z).
inline double smoothed_loss(TopKRow& row, double* z, std::int32_t y, double c, double ridge,
                            double slack, std::vector<DualEntry>& alpha) {
  const std::int32_t m = row.n_classes();
  TopKRow::margins(z, m, y);
  for (std::int32_t j = 0; j < m; ++j) {
    if (j != y) z[j] += slack;
  }
  const double plain = c * row.loss(z, y);
  if (!(ridge > 0.0) || !(plain > 0.0)) return plain;
  row.solve(z, y, ridge, c, alpha);
  double sum = 0.0, square = 0.0;
  for (const DualEntry& e : alpha) {
    sum += e.value;
    square += e.value * e.value;
  }
  for (std::int32_t j = 0; j < m; ++j) {
    if (j != y) z[j] -= ridge * sum;
  }
  for (const DualEntry& e : alpha) z[e.label] -= ridge * e.value;
  return std::min(plain, c * row.loss(z, y) + 0.5 * ridge * (square + sum * sum));
}

// Moves the weights beta of a row into c zeta Perm(rho), 0 <= zeta <= 1, where rounding has
// left them outside, and returns a bound of what is still missing, in the sum norm.
//
// Sorted, the weights b of the other classes and what the true class takes up, zeta R - sum b,
// must have partial sums of at most zeta R_l. The least of these and of the sums that are
// there is concave, hence again the sums of sorted weights, and feasible. A point that is far
// outside becomes zero, which is always feasible.
class FeasibleRow {
 public:
  FeasibleRow(const double* rho, std::size_t k, std::int32_t m, bool pseudo) : pseudo_(pseudo) {
    const std::size_t most = static_cast<std::size_t>(pseudo ? m - 1 : m);
    for (std::size_t l = 0; l < std::min(k, most); ++l) {
      prefix_.push_back(rho[l] + (l ? prefix_[l - 1] : 0.0));
    }
  }

  double repair(double c, double* beta, std::size_t count) {
    double sum = 0.0;
    for (std::size_t e = 0; e < count; ++e) {
      beta[e] = std::max(beta[e], 0.0);
      sum += beta[e];
    }
    if (count == 0 || !(sum > 0.0)) return 0.0;
    const double total = prefix_.back();
    const double rounding = 8.0 * static_cast<double>(count + prefix_.size() + 2) *
                            std::numeric_limits<double>::epsilon();
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [beta](std::size_t a, std::size_t b) {
      return beta[a] > beta[b] || (beta[a] == beta[b] && a < b);
    });
    double zeta = sum / (c * total);
    if (!pseudo_) {
      double held = 0.0;
      for (std::size_t l = 0; l < count; ++l) {
        held += beta[order_[l]];
        zeta = std::max(zeta, held / (c * limit(l)));
      }
    }
    const double scale = c * std::min(zeta, 1.0);
    const double own = pseudo_ ? 0.0 : std::max(scale * total - sum, 0.0);
    double held = 0.0, kept = 0.0;
    bool own_seen = pseudo_;
    std::size_t rank = 0, at = 0;
    while (at < count || !own_seen) {
      const bool take_own = !own_seen && (at == count || own > beta[order_[at]]);
      held += take_own ? own : beta[order_[at]];
      const double next = std::max(kept, std::min(held, scale * limit(rank++)));
      if (take_own) {
        own_seen = true;
      } else {
        double& value = beta[order_[at++]];
        // Unchanged where nothing is to do: a difference of sums would cost digits.
        if (held > next * (1.0 + rounding) || kept + value > next * (1.0 + rounding)) {
          value = next - kept;
        }
      }
      kept = next;
    }
    const double missing = std::max(scale * total - kept, 0.0) + rounding * scale * total;
    if (missing <= 1e-9 * scale * total) return missing;
    std::fill(beta, beta + count, 0.0);
    return 0.0;
  }

 private:
  double limit(std::size_t rank) const { return prefix_[std::min(rank, prefix_.size() - 1)]; }

  std::vector<double> prefix_;
  std::vector<std::size_t> order_;
  bool pseudo_;
};

}  // namespace shortlist
