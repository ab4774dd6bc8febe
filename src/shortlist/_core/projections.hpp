// Exact Euclidean projections in expected linear time.
//
// Everything rests on one routine: the root of a decreasing piecewise linear
// function, found by discarding half of its breakpoints per evaluation
// (randomised median finding, Li, Jin and Zhou 2014, Algorithm 2, corrected).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "interrupt.hpp"

namespace shortlist {

// One hinge of r(g) = offset + sum_p w_p * h_p(g):
//   falling: h(g) = max(x - g, 0)      rising: h(g) = -max(g - x, 0)
struct Hinge {
  double x;
  double weight;
  bool falling;
};

// Root of the decreasing function above. Reorders `hinges`.
// On a flat stretch at zero any point of it may be returned.
inline double decreasing_root(std::vector<Hinge>& hinges, double offset, Watch& watch) {
  double slope = 0.0, constant = offset;  // part of r that is linear on what is left
  double flat = 0.0;
  auto first = hinges.begin(), last = hinges.end();
  while (first != last) {
    watch.count(8 * static_cast<std::size_t>(last - first));
    auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last,
                     [](const Hinge& a, const Hinge& b) { return a.x < b.x; });
    const double pivot = middle->x;
    double value = constant + slope * pivot;
    for (auto p = first; p != last; ++p) {
      if (p->falling && p->x > pivot) value += p->weight * (p->x - pivot);
      if (!p->falling && p->x < pivot) value -= p->weight * (pivot - p->x);
    }
    flat = pivot;
    const bool root_is_right = value >= 0.0;
    auto keep = std::partition(first, last, [=](const Hinge& h) {
      return root_is_right ? h.x > pivot : h.x < pivot;
    });
    for (auto p = keep; p != last; ++p) {
      if (p->falling != root_is_right) {
        constant += p->weight * p->x;
        slope -= p->weight;
      }
    }
    last = keep;
  }
  return slope < 0.0 ? -constant / slope : flat;
}

inline double clip(double value, double upper) {
  return value < 0.0 ? 0.0 : (value > upper ? upper : value);
}

// sum_i clip(v_i - g, 0, upper_i) as hinges; an infinite bound needs only one.
inline void add_clipped(std::vector<Hinge>& hinges, const double* v, const double* upper,
                        double scale, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    hinges.push_back({v[i], 1.0, true});
    if (upper) hinges.push_back({v[i] - scale * upper[i], -1.0, true});
  }
}

// min |alpha - a|^2 + |beta - b|^2  s.t.  sum alpha = sum beta = S,
//     0 <= alpha <= upper,  0 <= beta_j <= cap_j S.
// `upper` and `cap` may be null: no bound.
class BalancedProjection {
 public:
  BalancedProjection(const double* a, const double* upper, std::size_t n_a, const double* b,
                     const double* cap, std::size_t n_b)
      : a_(a), upper_(upper), n_a_(n_a), b_(b), cap_(cap), n_b_(n_b) {}

  void run(double* alpha, double* beta) {
    uncapped(alpha, beta);
    if (cap_ && !caps_hold(beta)) capped(alpha, beta);
  }

 private:
  void uncapped(double* alpha, double* beta) {
    const double top = *std::max_element(a_, a_ + n_a_) + *std::max_element(b_, b_ + n_b_);
    if (top <= 0.0) return zeros(alpha, beta);
    work_.clear();
    work_.reserve(n_a_ * (upper_ ? 2 : 1) + n_b_);
    add_clipped(work_, a_, upper_, 1.0, n_a_);
    for (std::size_t j = 0; j < n_b_; ++j) work_.push_back({-b_[j], 1.0, false});
    const double shift = decreasing_root(work_, 0.0, watch_);
    fill_alpha(alpha, shift);
    for (std::size_t j = 0; j < n_b_; ++j) beta[j] = std::max(b_[j] + shift, 0.0);
  }

  // For a fixed total S both halves are one-dimensional roots (lambda, nu); S
  // itself is the root of the decreasing function
  //   G(S) = lambda(S) + nu(S) + sum_j cap_j max(b_j - nu - cap_j S, 0),
  // minus the derivative of the distance. Newton on its linear pieces,
  // bracketed, ends on the exact piece.
  void capped(double* alpha, double* beta) {
    if (*std::max_element(a_, a_ + n_a_) + top_mean() <= 0.0) return zeros(alpha, beta);
    double low = 0.0, high = std::numeric_limits<double>::infinity();
    if (upper_) {
      high = 0.0;
      for (std::size_t i = 0; i < n_a_; ++i) high += upper_[i];
    }
    double total = 0.0;
    for (std::size_t i = 0; i < n_a_; ++i) total += clip(a_[i], bound(i));
    if (!(total > 0.0)) total = std::isfinite(high) ? 0.5 * high : 1.0;
    if (total >= high) total = 0.5 * high;
    for (int step = 0; step < 200; ++step) {
      const double value = slope_at(total);
      if (value == 0.0) break;
      (value > 0.0 ? low : high) = total;
      double next = derivative_ < 0.0 ? total - value / derivative_
                                      : std::numeric_limits<double>::quiet_NaN();
      if (!(next > low && next < high)) {
        next = std::isfinite(high) ? 0.5 * (low + high) : 2.0 * total;
      }
      if (std::abs(next - total) <= 1e-15 * total) break;
      total = next;
    }
    slope_at(total);
    fill_alpha(alpha, lambda_);
    for (std::size_t j = 0; j < n_b_; ++j) beta[j] = clip(b_[j] - nu_, cap_[j] * total);
  }

  bool caps_hold(const double* beta) const {
    double total = 0.0;
    for (std::size_t j = 0; j < n_b_; ++j) total += beta[j];
    for (std::size_t j = 0; j < n_b_; ++j) {
      if (beta[j] > cap_[j] * total) return false;
    }
    return true;
  }

  double slope_at(double total) {
    work_.clear();
    add_clipped(work_, a_, upper_, 1.0, n_a_);
    lambda_ = decreasing_root(work_, -total, watch_);
    work_.clear();
    add_clipped(work_, b_, cap_, total, n_b_);
    nu_ = decreasing_root(work_, -total, watch_);
    double free_a = 0.0, free_b = 0.0, cap_sum = 0.0, cap_squares = 0.0, excess = 0.0;
    for (std::size_t i = 0; i < n_a_; ++i) {
      const double v = a_[i] - lambda_;
      if (v > 0.0 && v < bound(i)) free_a += 1.0;
    }
    for (std::size_t j = 0; j < n_b_; ++j) {
      const double v = b_[j] - nu_, most = cap_[j] * total;
      if (v >= most) {
        cap_sum += cap_[j];
        cap_squares += cap_[j] * cap_[j];
        excess += cap_[j] * (v - most);
      } else if (v > 0.0) {
        free_b += 1.0;
      }
    }
    derivative_ = 0.0;
    if (free_a > 0.0 && free_b > 0.0) {
      derivative_ = -1.0 / free_a - (1.0 - cap_sum) * (1.0 - cap_sum) / free_b - cap_squares;
    }
    return lambda_ + nu_ + excess;
  }

  // max sum_j p_j b_j over 0 <= p <= cap, sum p = 1: the limit of G's last two terms at
  // S = 0. Halves are taken or split like the breakpoints above, so in linear time too.
  double top_mean() const {
    std::vector<std::size_t> order(n_b_);
    for (std::size_t j = 0; j < n_b_; ++j) order[j] = j;
    double left = 1.0, mean = 0.0;
    auto first = order.begin(), last = order.end();
    while (last - first > 1) {
      auto middle = first + (last - first) / 2;
      std::nth_element(first, middle, last,
                       [this](std::size_t i, std::size_t j) { return b_[i] > b_[j]; });
      double share = 0.0, part = 0.0;
      for (auto p = first; p != middle; ++p) {
        share += cap_[*p];
        part += cap_[*p] * b_[*p];
      }
      if (share > left) {
        last = middle;
      } else {
        left -= share;
        mean += part;
        first = middle;
      }
    }
    return mean + left * b_[*first];
  }

  double bound(std::size_t i) const {
    return upper_ ? upper_[i] : std::numeric_limits<double>::infinity();
  }

  void fill_alpha(double* alpha, double shift) const {
    for (std::size_t i = 0; i < n_a_; ++i) alpha[i] = clip(a_[i] - shift, bound(i));
  }

  void zeros(double* alpha, double* beta) const {
    std::fill(alpha, alpha + n_a_, 0.0);
    std::fill(beta, beta + n_b_, 0.0);
  }

  const double *a_, *upper_;
  std::size_t n_a_;
  const double *b_, *cap_;
  std::size_t n_b_;
  std::vector<Hinge> work_;
  Watch watch_;
  double lambda_ = 0.0, nu_ = 0.0, derivative_ = 0.0;
};

}  // namespace shortlist
