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
//
// In the open mode with a ridge the gap grows with the square of what alpha violates, and in
// proportion to what beta violates among themselves: then each has a tolerance of its own.
// Once no pair violates the first, beta alone is settled to the second, on its own rows only.
//
// Violations say how large a gap can be at most; mostly it is far smaller, here above all. So the
// open mode looks at the gap itself from time to time. It ends where that is small enough, and
// settles beta as soon as alpha adds little to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "clones.hpp"
#include "interrupt.hpp"
#include "kernel_rows.hpp"
#include "pair_gap.hpp"
#include "pair_search.hpp"
#include "row_source.hpp"

namespace shortlist {

enum class Cap { open = 0, norm = 1, tied = 2, priced = 3 };

// One row may carry two variables: alpha of rows [0, n_alpha), beta of rows
// [first_beta, n). All arrays are updated in place.
template <typename T>
struct PairProblem {
  RowSource<T>& gram;
  std::size_t n, n_alpha, first_beta;
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
  explicit PairSolver(PairProblem<T>& problem)
      : q(problem), n_beta(q.n - q.first_beta), diagonal(diagonal_of(q)), alphas(q.n_alpha),
        betas(n_beta) {
    for (std::size_t r = 0; r < q.n_alpha; ++r)
      alphas.size[r] = static_cast<T>(diagonal[r] + q.ridge[r]);
    for (std::size_t j = 0; j < n_beta; ++j)
      betas.size[j] = static_cast<T>(diagonal[q.first_beta + j]);
    alphas.find_alike();
    betas.find_alike();
    betas.bent = q.mode == Cap::norm;
    betas.x = q.beta;
    betas.own.resize(n_beta);
    for (std::size_t j = 0; j < n_beta; ++j) betas.own[j] = 1.0 / q.omega[j];
  }

  double bf = 0.0;         // capped modes: sum of beta_j f_j over all rows
  double violation = 0.0;  // of the last selection

  double unsettled = 0.0;  // open mode: what beta still violates where its steps were too many

  std::int64_t steps = 0;  // taken so far

  // Steps until no pair violates optimality by more than eps, or the deadline has passed. In the
  // open mode `loose` holds for pairs with an alpha, and eps for pairs of beta; the run ends where
  // these take more than `patience` steps at a stretch, and where the gap is at most `goal`. A
  // step of the pairs counts as one of `work` for each of their rows; true if that, or
  // `max_steps`, was used up.
  bool run(double eps, double loose, double goal, std::int64_t max_steps, std::int64_t work,
           std::int64_t patience) {
    Watch watch;
    const double most = q.mode == Cap::open ? std::max(eps, loose) : eps;
    const auto cost = static_cast<std::int64_t>(q.n);
    const std::int64_t stretch = 64 + cost / 64;
    std::int64_t next = 0;     // step at which to look at the gap
    double ripe = 0.5 * goal;  // what alpha may add to it for beta to be settled
    const Stored stored(*this);
    look();
    while (steps < max_steps && work > 0 && !watch.late(kPasses * q.n)) {
      bool early = false;
      if (goal > 0.0 && steps >= next) {
        next = steps + stretch;
        const Gap now = gap();
        if (now.whole <= goal) return false;
        early = q.n_alpha > 0 && now.settled <= ripe && up_beta.value - low_beta.value > eps;
      }
      if (!early && choose(most)) {
        ++steps;
        work -= cost;
        continue;
      }
      if (!early && !(violation <= most && up_beta.value - low_beta.value > eps)) return false;
      const std::int64_t before = steps;
      const double rest = early ? 0.45 * goal : 0.0;
      const bool settled = settle(eps, rest, max_steps - steps, work, patience);
      next = steps;
      if (early) ripe *= 0.25;
      // Where beta is settled as well as can be already, steps of alpha go on.
      if (!settled && !(early && steps == before)) return false;
    }
    return steps >= max_steps || work <= 0;
  }

  // The published method: a random variable, its best partner among all others, in
  // either direction.
  bool run_random(std::int64_t max_steps, std::int64_t work, std::uint64_t& state) {
    Watch watch;
    const std::int64_t most =
        std::min(max_steps, 1 + work / static_cast<std::int64_t>(std::max<std::size_t>(q.n, 1)));
    const Stored stored(*this);
    look();
    for (; steps < most && !watch.late(kPasses * q.n); ++steps) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const std::size_t k = state % (q.n_alpha + n_beta);
      const Variable v = k < q.n_alpha ? Variable{k, false}
                                       : Variable{k - q.n_alpha + q.first_beta, true};
      Best up, down;
      if (room_up(v) > 0.0) up = partner(v, 1.0, 1.0, true, true);
      if (room_down(v) > 0.0) down = partner(v, -1.0, 1.0, true, true);
      if (up.gain <= 0.0 && down.gain <= 0.0) continue;
      if (up.gain >= down.gain) {
        move(v, up.with);
      } else {
        move(down.with, v);
      }
    }
    return steps >= most;
  }

 private:
  static constexpr double kInf = kInfinity;
  static constexpr double kRound = 1e-14;
  static constexpr std::size_t kPasses = 3;  // over the rows, a step

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
  Kind<T> alphas, betas;  // beta, in the norm mode, with the curvature of psi times omega_j
  // Whether the scores are in q.f, and not in the slopes: always in the capped modes, which move
  // them in other ways as well. Whether it is known which variables can move.
  bool away = true, ways = false;
  Extreme up_alpha{}, up_beta{}, low_alpha{}, low_beta{};

  static std::vector<double> diagonal_of(const PairProblem<T>& q) {
    std::vector<double> found(q.n);
    for (std::size_t r = 0; r < q.n; ++r) found[r] = q.gram.diagonal(r);
    return found;
  }

  bool capped() const { return q.mode == Cap::tied || q.mode == Cap::priced; }

  double* beta_of(std::size_t row) const { return q.beta + (row - q.first_beta); }
  double omega_of(std::size_t row) const { return q.omega[row - q.first_beta]; }

  // Beta, per omega, from which on rounding alone separates it from its cap.
  double brim() const { return capped() ? q.m * (1.0 - kRound) : kInf; }
  double cap(std::size_t row) const { return capped() ? omega_of(row) * q.m : kInf; }
  double ridge(Variable v) const {
    return v.is_beta ? betas.bend * betas.own[v.row - q.first_beta] : q.ridge[v.row];
  }
  // Ascent per unit of c at this variable.
  double slope(Variable v) const {
    if (!v.is_beta) return alphas.slope[v.row];
    return betas.slope[v.row - q.first_beta] + ridge(v) * *beta_of(v.row);
  }
  double room_up(Variable v) const {
    return v.is_beta ? *beta_of(v.row) : q.upper[v.row] - q.alpha[v.row];
  }
  double room_down(Variable v) const {
    if (!v.is_beta) return q.alpha[v.row];
    // As the searches see it, to the last digit: what they choose must be able to move.
    return *beta_of(v.row) < brim() * omega_of(v.row) ? cap(v.row) - *beta_of(v.row) : 0.0;
  }

  // Whether the coefficient of a row can rise and fall by this variable.
  T way(Variable v) const { return way_of<T>(room_up(v) > 0.0, room_down(v) > 0.0); }

  void load_slopes() {
    slopes_of_alpha(q.alpha, q.ridge, q.f, q.lin, q.n_alpha, alphas.slope.data());
    slopes_of_beta(q.f + q.first_beta, n_beta, betas.slope.data());
  }
  void load_ways() {
    ways_of(q.alpha, q.upper, 1.0, T{1}, q.n_alpha, alphas.way.data());
    ways_of(q.beta, q.omega, brim(), T{-1}, n_beta, betas.way.data());
    ways = true;
  }

  // Scores from the slopes.
  void store() {
    if (away) return;
    for (std::size_t r = 0; r < std::min(q.n_alpha, q.first_beta); ++r)
      q.f[r] = q.lin - q.ridge[r] * q.alpha[r] - alphas.slope[r];
    for (std::size_t j = 0; j < n_beta; ++j) q.f[q.first_beta + j] = -betas.slope[j];
    away = true;
  }

  // The variables of a kind that one of two threads looks at.
  static Span span(const Kind<T>& v, const Halves& sides, int side) {
    const std::size_t cut = sides.cut(v.n(), kSearched);
    return side == 0 ? Span{0, cut} : Span{cut, v.n()};
  }

  class Stored {
   public:
    explicit Stored(PairSolver& solver) : solver_(solver) {}
    ~Stored() { solver_.store(); }
    Stored(const Stored&) = delete;
    Stored& operator=(const Stored&) = delete;

   private:
    PairSolver& solver_;
  };

  // The steepest variables of either kind, after the scores have moved.
  void look(const Shift<T>& by = {nullptr, nullptr, 0.0}) {
    if (!ways) load_ways();
    if (away) load_slopes();
    away = capped();
    if (betas.bent) betas.bend = q.price / std::sqrt(std::max(q.norm2, 1e-300));
    Shift<T> rest = by;
    if (by.up) {
      if (q.n_alpha < q.first_beta) {
        add_difference(by.up + q.n_alpha, by.low + q.n_alpha, by.d, q.first_beta - q.n_alpha,
                       q.f + q.n_alpha);
      }
      rest = {by.up + q.first_beta, by.low + q.first_beta, by.d};
    }
    Steepest<T> some_a[2], some_b[2];
    const Halves sides(q.gram.duo, q.n);
    sides.both([&](int side) {
      some_a[side] = steepest(alphas, by, span(alphas, sides, side));
      some_b[side] = steepest(betas, rest, span(betas, sides, side));
    });
    const Steepest<T> a = steepest_of(some_a[0], some_a[1]);
    const Steepest<T> b = steepest_of(some_b[0], some_b[1]);
    up_alpha = {a.up.value, {a.up.at, false}};
    low_alpha = {a.low.value, {a.low.at, false}};
    up_beta = {b.up.value, {b.up.at + q.first_beta, true}};
    low_beta = {b.low.value, {b.low.at + q.first_beta, true}};
  }

  // The partner of largest second-order gain for moving `v` up (sign 1) or down (-1); slopes
  // differ by `reach` at most, or so.
  Best partner(Variable v, double sign, double reach, bool with_alpha, bool with_beta) {
    const double base = diagonal[v.row] + ridge(v);
    const Mover<T> mover{q.gram.row(v.row), slope(v), base, sign, reach};
    Mover<T> of_beta = mover;
    of_beta.row += q.first_beta;
    Peak<T> some_a[2] = {}, some_b[2] = {};
    const Halves sides(q.gram.duo, q.n);
    sides.both([&](int side) {
      if (with_alpha) some_a[side] = partner_of(alphas, mover, span(alphas, sides, side));
      if (with_beta) some_b[side] = partner_of(betas, of_beta, span(betas, sides, side));
    });
    Best best;
    for (const Peak<T>& found : some_a)
      if (found.value > best.gain) best = {found.value, {found.at, false}};
    for (const Peak<T>& found : some_b)
      if (found.value > best.gain) best = {found.value, {found.at + q.first_beta, true}};
    return best;
  }

  // Pick the most violating kind of move and take it; false when none exceeds eps.
  bool choose(double eps) {
    if (q.mode == Cap::open || q.mode == Cap::norm) {
      const Extreme& up = up_alpha.value >= up_beta.value ? up_alpha : up_beta;
      violation = up.value - std::min(low_alpha.value, low_beta.value);
      if (!(violation > eps)) return false;
      const Best best = partner(up.at, 1.0, violation, true, true);
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
    const Best best = partner(v, 1.0, violation, mixed || of_alpha, mixed || !of_alpha);
    return best.gain > 0.0 && move(v, best.with);
  }

  struct Gap {
    double whole, settled;  // as it is, and what alpha would add to it if beta were settled
  };
  Gap gap() const {
    const Weighed now = weighed(q.beta, betas.slope.data(), n_beta);
    auto of_alpha = [this](double t) {
      return gap_of_alpha(q.alpha, alphas.slope.data(), q.ridge, q.upper, q.n_alpha, t);
    };
    return {of_alpha(now.highest) + now.total * (now.highest - now.mean), of_alpha(now.mean)};
  }

  // Scores of the rows before those of beta, left behind while beta is settled.
  class Behind {
   public:
    Behind(const PairProblem<T>& problem, std::size_t n_beta)
        : q(problem), before(q.beta, q.beta + n_beta) {}
    ~Behind() {
      std::vector<std::size_t> rows;
      std::vector<double> fallen;
      for (std::size_t j = 0; j < before.size(); ++j) {
        if (q.beta[j] == before[j]) continue;
        rows.push_back(j + q.first_beta);
        fallen.push_back(before[j] - q.beta[j]);
      }
      q.gram.add(rows.data(), fallen.data(), rows.size(), q.first_beta, q.f);
    }
    Behind(const Behind&) = delete;
    Behind& operator=(const Behind&) = delete;

   private:
    const PairProblem<T>& q;
    const std::vector<double> before;
  };

  // Steps among beta until no pair of them violates optimality by more than eps; false when
  // there was none to take, or not enough of them. What it takes is taken off `work`.
  bool settle(double eps, double goal, std::int64_t most, std::int64_t& work,
              std::int64_t patience) {
    const std::int64_t taken = settling_steps(eps, goal, std::min(most, patience), work, patience);
    work -= taken * static_cast<std::int64_t>(n_beta);
    look();
    return taken > 0 && taken < patience;
  }

  std::int64_t settling_steps(double eps, double goal, std::int64_t most, std::int64_t work,
                              std::int64_t patience) {
    store();
    const std::size_t first = q.first_beta;
    PairProblem<T> alone{q.gram.from(first), n_beta, 0, 0, nullptr, nullptr, nullptr, q.beta,
                         q.omega, q.f + first, nullptr, Cap::open, q.lin, q.price};
    const Behind behind(q, n_beta);
    PairSolver<T> solver(alone);
    solver.run(eps, eps, goal, most, work, patience);
    ways = false;
    steps += solver.steps;
    if (solver.steps == patience) unsettled = solver.violation;
    return solver.steps;
  }

  // c of `up` rises and c of `low` falls by the best feasible amount.
  bool move(Variable up, Variable low) {
    const T* row_up = q.gram.row(up.row);
    const T* row_low = q.gram.row(low.row);
    const double size = diagonal[up.row] + diagonal[low.row];
    const double curvature = positive_curve(
        size - 2.0 * static_cast<double>(row_up[low.row]) + ridge(up) + ridge(low), size);
    double d = (slope(up) - slope(low)) / curvature;
    d = std::min({d, room_up(up), room_down(low)});
    if (!(d > 0.0)) return false;
    if (!capped()) {
      shift(up, d);
      shift(low, -d);
      look({row_up, row_low, d});
      return true;
    }
    bf += d * (q.f_beta[up.row] - q.f_beta[low.row]);
    add_difference(row_up, row_low, d, q.n, q.f);
    shift(up, d);
    shift(low, -d);
    look();
    return true;
  }

  // Change one variable so that its row's c grows by d; in the capped modes f is up to date.
  void shift(Variable v, double d) {
    if (!v.is_beta) {
      const double old = q.alpha[v.row];
      q.alpha[v.row] = snap(old, d, q.upper[v.row]);
      alphas.slope[v.row] -= q.ridge[v.row] * (q.alpha[v.row] - old);
      alphas.way[v.row] = way(v);
      return;
    }
    double* b = beta_of(v.row);
    const double old = *b;
    *b = snap(old, -d, cap(v.row));
    betas.way[v.row - q.first_beta] = way(v);
    if (q.mode == Cap::norm) q.norm2 += (*b - old) * (*b + old) / omega_of(v.row);
    if (!capped()) return;
    const T* row = q.gram.row(v.row);
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
        positive_curve(size - 2.0 * q.f_beta[v.row] / total + ridge(v), size);
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
    const T* row = q.gram.row(v.row);
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
    ways = false;  // rounding may have put some beside their caps
    shift(v, d);
    look();
    return true;
  }
};

}  // namespace shortlist
