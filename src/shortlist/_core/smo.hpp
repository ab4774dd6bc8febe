// Pair steps on the dual of a top-of-the-list problem, restricted to some rows.
//
//   maximise  lin * sum(alpha) - sum(ridge_i alpha_i^2)/2 - |w|^2/2 - psi(beta)
//   subject to  sum(alpha) = sum(beta),  0 <= alpha_i <= upper_i,  beta >= 0,
//   w = sum alpha_i phi_i - sum beta_j phi_j
//
// psi by mode:
//   open    0                                  (the highest negative)
//   norm    price * sqrt(sum beta_j^2/omega_j) (squared surrogate of a quantile)
//   tied    0 with beta_j <= omega_j m, m a fixed share of sum(beta)  (mean of k)
//   priced  price * m with beta_j <= omega_j m                (hinge surrogate)
//
// A pair moves the coefficient c = alpha - beta of one row up and of another down by
// the same amount. The caps of the last two modes couple all rows, and pairs alone
// jam at their corners; there a further coordinate, the scale of all beta together,
// pairs with single rows. Selection is of second order: the row with the steepest
// ascent, and the partner with the largest gain (R.-E. Fan, P.-H. Chen, C.-J. Lin,
// "Working set selection using second order information for training SVM", 2005).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

// f += d (up - low)
template <typename T>
SHORTLIST_INLINE void add_difference_loop(const T* up, const T* low, double d, std::size_t n,
                                          double* f) {
  for (std::size_t r = 0; r < n; ++r)
    f[r] += d * (static_cast<double>(up[r]) - static_cast<double>(low[r]));
}
SHORTLIST_CLONES inline void add_difference(const float* up, const float* low, double d,
                                            std::size_t n, double* f) {
  add_difference_loop(up, low, d, n, f);
}
SHORTLIST_CLONES inline void add_difference(const double* up, const double* low, double d,
                                            std::size_t n, double* f) {
  add_difference_loop(up, low, d, n, f);
}

enum class Cap { open = 0, norm = 1, tied = 2, priced = 3 };

// One row may carry two variables: alpha of rows [0, n_alpha), beta of rows
// [first_beta, n). All arrays but the gram matrix are updated in place.
template <typename T>
struct PairProblem {
  const T* gram;
  std::size_t stride, n, n_alpha, first_beta;
  double* alpha;
  const double* ridge;
  const double* upper;
  double* beta;
  const double* omega;
  double* f;       // scores of the rows
  double* f_beta;  // their part from all beta, kept in the capped modes only
  Cap mode;
  double lin, price;
  double norm2 = 0.0;   // norm: sum of beta^2/omega over all rows
  double m = 0.0;       // capped modes: the level of the caps
  double total = 0.0;   // capped modes: sum of all beta
  double bb = 0.0;      // capped modes: |sum beta phi|^2
  double scaled = 1.0;  // capped modes: factor applied to the beta of other rows
};

template <typename T>
class PairSolver {
 public:
  explicit PairSolver(PairProblem<T>& problem) : q(problem), n_beta(q.n - q.first_beta) {
    diagonal.resize(q.n);
    for (std::size_t r = 0; r < q.n; ++r) diagonal[r] = q.gram[r * q.stride + r];
  }

  double bf = 0.0;         // capped modes: sum of beta_j f_j over all rows
  double violation = 0.0;  // of the last selection

  std::int64_t steps = 0;  // taken so far

  // Steps until no pair violates optimality by more than eps, or the deadline has passed.
  void run(double eps, std::int64_t max_steps) {
    Watch watch;
    while (steps < max_steps && !watch.late(kPasses * q.n)) {
      refresh();
      scan();
      if (!choose(eps)) break;
      ++steps;
    }
  }

  // The published method: a random variable, its best partner among all others, in
  // either direction.
  void run_random(std::int64_t max_steps, std::uint64_t& state) {
    Watch watch;
    for (; steps < max_steps && !watch.late(kPasses * q.n); ++steps) {
      refresh();
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const std::size_t k = state % (q.n_alpha + n_beta);
      const Variable v = k < q.n_alpha ? Variable{k, false}
                                       : Variable{k - q.n_alpha + q.first_beta, true};
      Best up, down;
      if (room_up(v) > 0.0) up = partner(v, true, true, true);
      if (room_down(v) > 0.0) down = partner(v, false, true, true);
      if (up.gain <= 0.0 && down.gain <= 0.0) continue;
      if (up.gain >= down.gain) {
        move(v, up.with);
      } else {
        move(down.with, v);
      }
    }
  }

 private:
  static constexpr double kInf = std::numeric_limits<double>::infinity();
  static constexpr double kRound = 1e-14;
  static constexpr std::size_t kPasses = 4;  // over the rows, a step

  struct Variable {
    std::size_t row;
    bool is_beta;
  };
  struct Best {
    double gain = 0.0;
    Variable with{0, false};
  };
  struct Extreme {
    double value;
    Variable at{0, false};
  };

  PairProblem<T>& q;
  std::size_t n_beta;
  std::vector<double> diagonal;
  double beta_ridge = 0.0;  // norm: curvature of psi times omega_j
  Extreme up_alpha{}, up_beta{}, low_alpha{}, low_beta{};

  bool capped() const { return q.mode == Cap::tied || q.mode == Cap::priced; }

  void refresh() {
    if (q.mode == Cap::norm) beta_ridge = q.price / std::sqrt(std::max(q.norm2, 1e-300));
  }

  double* beta_of(std::size_t row) const { return q.beta + (row - q.first_beta); }
  double omega_of(std::size_t row) const { return q.omega[row - q.first_beta]; }

  double cap(std::size_t row) const { return capped() ? omega_of(row) * q.m : kInf; }
  double ridge(Variable v) const {
    return v.is_beta ? beta_ridge / omega_of(v.row) : q.ridge[v.row];
  }
  // Ascent per unit of c at this variable.
  double slope(Variable v) const {
    if (v.is_beta) return beta_ridge * *beta_of(v.row) / omega_of(v.row) - q.f[v.row];
    return q.lin - q.ridge[v.row] * q.alpha[v.row] - q.f[v.row];
  }
  double room_up(Variable v) const {
    return v.is_beta ? *beta_of(v.row) : q.upper[v.row] - q.alpha[v.row];
  }
  double room_down(Variable v) const {
    if (!v.is_beta) return q.alpha[v.row];
    const double most = cap(v.row), left = most - *beta_of(v.row);
    return most < kInf && left <= kRound * most ? 0.0 : left;
  }

  // Steepest variables of either kind, upwards and downwards.
  void scan() {
    up_alpha = up_beta = {-kInf};
    low_alpha = low_beta = {kInf};
    for (std::size_t r = 0; r < q.n_alpha; ++r) {
      const double s = q.lin - q.ridge[r] * q.alpha[r] - q.f[r];
      if (s > up_alpha.value && q.alpha[r] < q.upper[r]) up_alpha = {s, {r, false}};
      if (s < low_alpha.value && q.alpha[r] > 0.0) low_alpha = {s, {r, false}};
    }
    const double* f = q.f + q.first_beta;
    for (std::size_t j = 0; j < n_beta; ++j) {
      const double b = q.beta[j];
      double s = -f[j];
      if (b > 0.0) {
        s += beta_ridge * b / q.omega[j];
        if (s > up_beta.value) up_beta = {s, {j + q.first_beta, true}};
      }
      if (s < low_beta.value && room_down({j + q.first_beta, true}) > 0.0)
        low_beta = {s, {j + q.first_beta, true}};
    }
  }

  // The partner of largest second-order gain for moving `v` up (or down).
  Best partner(Variable v, bool v_up, bool with_alpha, bool with_beta) const {
    Best best;
    const T* row = q.gram + v.row * q.stride;
    const double s = slope(v), base = diagonal[v.row] + ridge(v);
    const double sign = v_up ? 1.0 : -1.0;
    if (with_alpha) {
      for (std::size_t r = 0; r < q.n_alpha; ++r) {
        const double room = v_up ? q.alpha[r] : q.upper[r] - q.alpha[r];
        if (!(room > 0.0)) continue;
        const double diff = sign * (s - (q.lin - q.ridge[r] * q.alpha[r] - q.f[r]));
        if (diff <= 0.0) continue;
        consider(best, diff, base + diagonal[r] + q.ridge[r] - 2.0 * row[r], {r, false});
      }
    }
    if (with_beta) {
      for (std::size_t j = 0; j < n_beta; ++j) {
        const std::size_t r = j + q.first_beta;
        const double b = q.beta[j], curve = beta_ridge / q.omega[j];
        const double diff = sign * (s - (curve * b - q.f[r]));
        if (diff <= 0.0) continue;
        if (!(v_up ? room_down({r, true}) > 0.0 : b > 0.0)) continue;
        consider(best, diff, base + diagonal[r] + curve - 2.0 * row[r], {r, true});
      }
    }
    return best;
  }

  static double positive(double curvature, double size) {
    return std::max(curvature, 1e-12 * size + 1e-300);
  }

  void consider(Best& best, double diff, double curvature, Variable v) const {
    // A division only where it may matter: most candidates are not the best.
    const double curve = positive(curvature, diagonal[v.row]);
    if (diff * diff > best.gain * curve) best = {diff * diff / curve, v};
  }

  // Pick the most violating kind of move and take it; false when none exceeds eps.
  bool choose(double eps) {
    if (q.mode == Cap::open || q.mode == Cap::norm) {
      const Extreme& up = up_alpha.value >= up_beta.value ? up_alpha : up_beta;
      violation = up.value - std::min(low_alpha.value, low_beta.value);
      if (!(violation > eps)) return false;
      const Best best = partner(up.at, true, true, true);
      return best.gain > 0.0 && move(up.at, best.with);
    }
    // With nothing left to scale the scale has no direction: the optimum is zero.
    if (!(q.total > 1e-150)) return false;
    const bool mixed = q.mode == Cap::priced;
    const double scale = (q.price * q.m - bf) / q.total;
    const Extreme& up = mixed && up_beta.value > up_alpha.value ? up_beta : up_alpha;
    const Extreme& low = mixed && low_beta.value < low_alpha.value ? low_beta : low_alpha;
    const double pair = up.value - low.value;
    const double inner = mixed ? -kInf : up_beta.value - low_beta.value;
    const double grow = up.value - scale, shrink = scale - low.value;
    violation = std::max({pair, inner, grow, shrink});
    if (!(violation > eps)) return false;
    if (violation == grow) return rescale(up.at, grow);
    if (violation == shrink) return rescale(low.at, -shrink);
    const bool of_alpha = violation == pair;
    const Variable v = of_alpha ? up.at : up_beta.at;
    const Best best = partner(v, true, mixed || of_alpha, mixed || !of_alpha);
    return best.gain > 0.0 && move(v, best.with);
  }

  // c of `up` rises and c of `low` falls by the best feasible amount.
  bool move(Variable up, Variable low) {
    const T* row_up = q.gram + up.row * q.stride;
    const T* row_low = q.gram + low.row * q.stride;
    const double size = diagonal[up.row] + diagonal[low.row];
    const double curvature = positive(
        size - 2.0 * static_cast<double>(row_up[low.row]) + ridge(up) + ridge(low), size);
    double d = (slope(up) - slope(low)) / curvature;
    d = std::min({d, room_up(up), room_down(low)});
    if (!(d > 0.0)) return false;
    if (capped()) bf += d * (q.f_beta[up.row] - q.f_beta[low.row]);
    add_difference(row_up, row_low, d, q.n, q.f);
    shift(up, d);
    shift(low, -d);
    return true;
  }

  // Change one variable so that its row's c grows by d; f is already up to date.
  void shift(Variable v, double d) {
    if (!v.is_beta) {
      q.alpha[v.row] = snap(q.alpha[v.row], d, q.upper[v.row]);
      return;
    }
    double* b = beta_of(v.row);
    const double old = *b;
    *b = snap(old, -d, cap(v.row));
    if (q.mode == Cap::norm) q.norm2 += (*b - old) * (*b + old) / omega_of(v.row);
    if (!capped()) return;
    const T* row = q.gram + v.row * q.stride;
    q.total -= d;
    bf -= d * q.f[v.row];
    q.bb += d * (d * diagonal[v.row] - 2.0 * q.f_beta[v.row]);
    for (std::size_t r = 0; r < q.n; ++r) q.f_beta[r] -= d * static_cast<double>(row[r]);
  }

  // What rounding leaves of a difference is zero, or the cap; on the scale of the values
  // themselves, which with large kernel entries are far below their caps.
  static double snap(double old, double d, double most) {
    const double value = old + d, tiny = 1e-2 * kRound * std::max(std::abs(old), std::abs(d));
    if (value <= tiny) return 0.0;
    return most < kInf && most - value <= 1e-2 * kRound * most ? most : value;
  }

  // All beta grow (or shrink) together by d in sum; v takes up the balance.
  bool rescale(Variable v, double slope_gap) {
    const double total = q.total;
    const double size = diagonal[v.row] + q.bb / (total * total);
    const double curvature =
        positive(size - 2.0 * q.f_beta[v.row] / total + ridge(v), size);
    double d = slope_gap / curvature;
    if (d > 0.0) {
      double room = room_up(v);
      if (v.is_beta) room /= std::max(1.0 - *beta_of(v.row) / total, 1e-300);
      d = std::min(d, room);
    } else {
      double room = room_down(v);
      if (v.is_beta) room /= 1.0 + (cap(v.row) - *beta_of(v.row)) / total;
      // Half of the total at most: at zero the scale has no direction any more.
      d = -std::min({-d, room, 0.5 * total});
    }
    if (d == 0.0) return false;
    const double factor = 1.0 + d / total;
    // c of the row grows by d, that of all beta falls by d * beta / total.
    bf += d * (q.f_beta[v.row] - q.bb / total);
    const T* row = q.gram + v.row * q.stride;
    const double part = d / total;
    for (std::size_t r = 0; r < q.n; ++r)
      q.f[r] += d * static_cast<double>(row[r]) - part * q.f_beta[r];
    bf *= factor;
    q.bb *= factor * factor;
    q.m *= factor;
    q.total *= factor;
    q.scaled *= factor;
    for (std::size_t r = 0; r < q.n; ++r) q.f_beta[r] *= factor;
    for (std::size_t j = 0; j < n_beta; ++j) q.beta[j] *= factor;
    shift(v, d);
    return true;
  }
};

}  // namespace shortlist
