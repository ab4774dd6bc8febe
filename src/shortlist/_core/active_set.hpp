// Active-set solver of a linear SVM whose rows have their own targets and bounds.
//
//   min_{w,b} 1/2 |w|^2 + sum_r upper_r [target_r - sign_r (w.z_r + b)]_+
//
// An infinite `upper` is a hard constraint, a zero `upper` no constraint at all, so
// changing which rows are constrained is changing bounds. Solved in the dual,
//
//   max_g  target.g - 1/2 |sum_r g_r sign_r z_r|^2,  sign.g = 0,  0 <= g <= upper,
//
// by moving one multiplier at a time while the free ones F (strictly between their
// bounds, margin exactly at the target) follow: incremental learning and unlearning
// (Cauwenberghs and Poggio, NIPS 2000), with exact pivots where rows are linearly
// dependent. Every point on the way is dual feasible, so the objective is a lower bound
// at any time and a search may stop early on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "gram_factor.hpp"
#include "interrupt.hpp"

namespace shortlist {

// Storage of the rows. Several logical rows may share one stored row.
struct RowStore {
  std::size_t n_rows = 0, n_features = 0;
  virtual ~RowStore() = default;
  virtual void scores(const double* w, double* out) const = 0;
  virtual double score(std::size_t row, const double* w) const = 0;
  virtual void add(std::size_t row, double factor, double* w) const = 0;
  virtual double inner(std::size_t a, std::size_t b) const = 0;
  virtual double stored_values() const = 0;
};

enum class PathStatus { optimal = 0, above = 1, stalled = 2 };

class ActiveSet {
 public:
  ActiveSet(std::shared_ptr<const RowStore> store, std::vector<std::int64_t> stored,
            std::vector<double> sign, std::vector<double> target, std::vector<double> upper)
      : store_(std::move(store)),
        stored_(std::move(stored)),
        sign_(std::move(sign)),
        target_(std::move(target)),
        scores_(store_->n_rows) {
    const std::size_t n = stored_.size();
    square_.resize(n);
    double mean = 0.0;
    for (std::size_t r = 0; r < n; ++r) {
      square_[r] = store_->inner(stored_[r], stored_[r]);
      mean += square_[r] / static_cast<double>(n);
    }
    bias_ = mean > 0.0 ? mean : 1.0;
    for (double& value : square_) value += bias_;
    now_.upper = std::move(upper);
    now_.gamma.assign(n, 0.0);
    now_.position.assign(n, -1);
    now_.w.assign(store_->n_features, 0.0);
    set_intercept(0);
    join_alone(0);
  }

  double value() const { return now_.value; }
  double intercept() const { return now_.b; }
  const std::vector<double>& weights() const { return now_.w; }
  const std::vector<double>& multipliers() const { return now_.gamma; }
  double work() const { return work_; }

  std::size_t n_rows() const { return stored_.size(); }
  bool has_saved() const { return saved_.gamma.size() == stored_.size(); }

  void save() { saved_ = now_; }
  void restore() { now_ = saved_; }

  // Sets the bound of a row to zero and moves its multiplier there.
  void release(std::size_t row) {
    if (now_.gamma[row] > 0.0) {
      if (now_.position[row] >= 0) leave(now_.position[row]);
      if (now_.free.empty()) join_alone(partner(row));
      move(row, -1.0, true);
    } else if (now_.position[row] >= 0 && now_.free.size() > 1) {
      leave(now_.position[row]);
    }
    now_.upper[row] = 0.0;
  }

  // Gives a row a new bound above its multiplier; `optimise` makes it count.
  void bound(std::size_t row, double upper) { now_.upper[row] = upper; }

  // Runs to optimality, or until the lower bound exceeds `ceiling`, or to a limit: that of the
  // pivots, or the deadline.
  PathStatus optimise(double ceiling, std::int64_t max_pivots) {
    const std::int64_t last = pivots_ + max_pivots;
    zero_steps_ = stale_ = 0;
    refreshed_value_ = -std::numeric_limits<double>::infinity();
    bool refreshed = false;
    while (true) {
      price();
      if (batch_.empty()) {
        if (refreshed) return PathStatus::optimal;
        refresh();
        refreshed = true;
        continue;
      }
      for (const auto& [excess, row] : batch_) {
        const double g = margin_excess(row);
        if (now_.position[row] >= 0 || !violates(row, g)) continue;
        move(row, g < 0.0 ? 1.0 : -1.0, false);
        refreshed = false;
        if (now_.value > ceiling) return PathStatus::above;
        if (pivots_ >= last || Clock::now() >= deadline) return PathStatus::stalled;
        if (since_refresh_ > kRefreshEvery + now_.free.size()) refresh();
      }
    }
  }

 private:
  static constexpr double kTolerance = 1e-9;     // margins, in units of the target
  static constexpr double kRounding = 1e-13;
  static constexpr double kNoStep = 1e-14;       // steps that are zero but for rounding
  static constexpr double kDependent = 1e-14;    // share of a square that counts as zero
  static constexpr double kCancelled = 1e-5;     // share below which digits are lost
  static constexpr std::size_t kBatch = 8;       // rows entered per full pricing
  static constexpr std::size_t kRefreshEvery = 100;
  static constexpr int kZeroStepsAllowed = 20;   // before the order turns random
  static constexpr int kZeroStepsPerDigit = 300; // before the tolerance loses a digit

  struct State {
    std::vector<double> gamma, upper, w;
    std::vector<std::int64_t> position;  // index in `free`, or -1
    std::vector<std::size_t> free;
    GramFactor factor;
    double b = 0.0, value = 0.0;
  };

  double product(std::size_t a, std::size_t b) const {
    return sign_[a] * sign_[b] * (store_->inner(stored_[a], stored_[b]) + bias_);
  }

  double margin_excess(std::size_t r) const {
    return sign_[r] * (store_->score(stored_[r], now_.w.data()) + now_.b) - target_[r];
  }

  bool violates(std::size_t r, double g) const {
    // Beyond the tolerance, what rounding may do to w.z + b; and where no step gains any
    // more, a little patience.
    const double tolerance = kTolerance * patience_ +
                             kRounding * (norm_ * std::sqrt(square_[r]) + std::abs(now_.b));
    return (g < -tolerance && now_.gamma[r] < now_.upper[r]) ||
           (g > tolerance && now_.gamma[r] > 0.0);
  }

  void spend(double work) {
    work_ += work;
    watch_.count(static_cast<std::size_t>(work));
  }

  void set_intercept(std::size_t r) {
    now_.b = sign_[r] * target_[r] - store_->score(stored_[r], now_.w.data());
  }

  void price() {
    store_->scores(now_.w.data(), scores_.data());
    spend(store_->stored_values());
    norm_ = std::sqrt(dot(now_.w.data(), now_.w.data(), now_.w.size()));
    patience_ = std::pow(10.0, std::min(zero_steps_ / kZeroStepsPerDigit + stale_, 3));
    batch_.clear();
    for (std::size_t r = 0; r < stored_.size(); ++r) {
      if (now_.position[r] >= 0) continue;
      const double g = sign_[r] * (scores_[stored_[r]] + now_.b) - target_[r];
      if (violates(r, g)) batch_.emplace_back(std::abs(g) / std::sqrt(square_[r]), r);
    }
    // Many steps of length zero may cycle; a random order does not.
    if (zero_steps_ > kZeroStepsAllowed) {
      std::shuffle(batch_.begin(), batch_.end(), random_);
      if (batch_.size() > kBatch) batch_.resize(kBatch);
      return;
    }
    const std::size_t count = std::min(kBatch, batch_.size());
    std::partial_sort(batch_.begin(), batch_.begin() + count, batch_.end(),
                      [](const auto& a, const auto& b) {
                        return a.first > b.first || (a.first == b.first && a.second < b.second);
                      });
    batch_.resize(count);
  }

  // The row that meets its target first when b rises: it takes over what `row` gives up.
  std::size_t partner(std::size_t row) const {
    std::size_t best = row;
    double least = std::numeric_limits<double>::infinity();
    const double way = -sign_[row];
    for (std::size_t r = 0; r < stored_.size(); ++r) {
      if (r == row || now_.upper[r] == 0.0) continue;
      const double slope = way * sign_[r];
      const bool movable = slope > 0.0 ? now_.gamma[r] > 0.0 : now_.gamma[r] < now_.upper[r];
      const double distance = -margin_excess(r) * slope;
      if (movable && distance < least) {
        least = distance;
        best = r;
      }
    }
    return best;
  }

  void join_alone(std::size_t r) {
    set_intercept(r);
    now_.factor.clear();
    now_.free.clear();
    now_.factor.append(nullptr, square_[r]);
    now_.position[r] = 0;
    now_.free.push_back(r);
  }

  void leave(std::size_t place) {
    now_.factor.remove(place);
    now_.position[now_.free[place]] = -1;
    now_.free.erase(now_.free.begin() + static_cast<std::ptrdiff_t>(place));
    for (std::size_t i = place; i < now_.free.size(); ++i) {
      now_.position[now_.free[i]] = static_cast<std::int64_t>(i);
    }
  }

  // How often `step` fits before the multiplier of row r meets a bound.
  double reach(std::size_t r, double step) const {
    const double room = step > 0.0 ? now_.upper[r] - now_.gamma[r] : now_.gamma[r];
    return std::max(room, 0.0) / std::abs(step);
  }

  void shift_multiplier(std::size_t r, double by) {
    now_.gamma[r] = std::min(std::max(now_.gamma[r] + by, 0.0), now_.upper[r]);
  }

  // Writes `row` as a combination of the free rows: the coefficients to `step_`, their
  // image under the factor to `half_`. Returns the square of what is left over. Where
  // that is small, cancellation would spoil it: it is then computed from the remainder
  // itself, after one step of refinement.
  double expand(std::size_t row) {
    const std::size_t n = now_.free.size();
    half_.resize(n);
    for (std::size_t i = 0; i < n; ++i) half_[i] = product(now_.free[i], row);
    now_.factor.forward(half_.data());
    step_ = half_;
    now_.factor.backward(step_.data());
    double rest = square_[row] - dot(half_.data(), half_.data(), n);
    if (rest > kCancelled * square_[row]) return rest;
    remainder(row);
    rest_half_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t r = now_.free[i];
      const double inner = store_->score(stored_[r], rest_.data()) + bias_ * rest_bias_;
      rest_half_[i] = sign_[r] * inner;
    }
    now_.factor.forward(rest_half_.data());
    for (std::size_t i = 0; i < n; ++i) half_[i] += rest_half_[i];
    now_.factor.backward(rest_half_.data());
    for (std::size_t i = 0; i < n; ++i) step_[i] += rest_half_[i];
    remainder(row);
    return dot(rest_.data(), rest_.data(), rest_.size()) + bias_ * rest_bias_ * rest_bias_;
  }

  // The row minus its combination of free rows.
  void remainder(std::size_t row) {
    rest_.assign(store_->n_features, 0.0);
    store_->add(stored_[row], sign_[row], rest_.data());
    rest_bias_ = sign_[row];
    for (std::size_t i = 0; i < now_.free.size(); ++i) {
      const std::size_t r = now_.free[i];
      store_->add(stored_[r], -step_[i] * sign_[r], rest_.data());
      rest_bias_ -= step_[i] * sign_[r];
    }
  }

  // Moves the multiplier of `row` up (way = 1) or down (-1) until its margin reaches the
  // target or the multiplier its bound; a forced move ignores the margin.
  void move(std::size_t row, double way, bool forced) {
    double g = margin_excess(row);
    while (true) {
      ++pivots_;
      ++since_refresh_;
      const std::size_t n = now_.free.size();
      const double per_row = store_->stored_values() / static_cast<double>(store_->n_rows);
      spend(static_cast<double>(n) * (2.0 * per_row + 3.0 * static_cast<double>(n)));
      balance_.resize(n);
      const double rest = expand(row);
      const bool dependent = rest <= kDependent * square_[row];
      double shift = 0.0, curvature = 0.0;
      if (!dependent) {
        for (std::size_t i = 0; i < n; ++i) balance_[i] = sign_[now_.free[i]];
        now_.factor.forward(balance_.data());
        double own = 0.0, cross = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
          own += balance_[i] * balance_[i];
          cross += balance_[i] * half_[i];
        }
        now_.factor.backward(balance_.data());
        shift = (cross - sign_[row]) / own;
        for (std::size_t i = 0; i < n; ++i) step_[i] -= shift * balance_[i];
        curvature = rest + shift * (cross - sign_[row]);
      }
      for (double& value : step_) value *= -way;

      const double span = way > 0.0 ? now_.upper[row] - now_.gamma[row] : now_.gamma[row];
      double length = span;
      if (!forced && !dependent) length = std::min(length, std::max(-g * way, 0.0) / curvature);
      std::size_t blocking = n;
      for (std::size_t i = 0; i < n; ++i) {
        if (std::abs(step_[i]) <= kNoStep) continue;
        const double longest = reach(now_.free[i], step_[i]);
        if (longest < length) {
          length = longest;
          blocking = i;
        }
      }
      if (!(length < std::numeric_limits<double>::infinity())) return;

      shift_multiplier(row, way * length);
      store_->add(stored_[row], way * length * sign_[row], now_.w.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t r = now_.free[i];
        shift_multiplier(r, length * step_[i]);
        store_->add(stored_[r], length * step_[i] * sign_[r], now_.w.data());
      }
      now_.b -= way * shift * length;
      const double gain = -(way * g + 0.5 * curvature * length) * length;
      now_.value += gain;
      zero_steps_ = gain > 1e-13 * std::abs(now_.value) ? 0 : zero_steps_ + 1;
      g += way * curvature * length;

      if (blocking < n) {
        const std::size_t r = now_.free[blocking];
        now_.gamma[r] = step_[blocking] > 0.0 ? now_.upper[r] : 0.0;
        leave(blocking);
        if (!now_.free.empty()) continue;
        if (!forced) return join_alone(row);
        join_alone(partner(row));
        g = margin_excess(row);
        continue;
      }
      if (length == span) {
        now_.gamma[row] = way > 0.0 ? now_.upper[row] : 0.0;
      } else {
        now_.factor.append(half_.data(), rest);
        now_.position[row] = static_cast<std::int64_t>(n);
        now_.free.push_back(row);
      }
      return;
    }
  }

  // Rounding builds up in w, the factor and the margins of the free rows: start afresh.
  void refresh() {
    since_refresh_ = 0;
    std::vector<std::size_t> free;
    free.swap(now_.free);
    now_.factor.clear();
    for (std::size_t r : free) now_.position[r] = -1;
    for (std::size_t r : free) {
      watch_.count(now_.free.size() * (now_.free.size() + store_->n_features));
      const double rest = expand(r);
      if (rest <= kDependent * square_[r]) continue;
      now_.factor.append(half_.data(), rest);
      now_.position[r] = static_cast<std::int64_t>(now_.free.size());
      now_.free.push_back(r);
    }
    rebuild();
    correct();
    // Gains that vanish here were rounding.
    if (now_.value > refreshed_value_ + 1e-12 * std::abs(now_.value)) {
      refreshed_value_ = now_.value;
      stale_ = 0;
    } else {
      ++stale_;
    }
  }

  void rebuild() {
    std::fill(now_.w.begin(), now_.w.end(), 0.0);
    now_.value = 0.0;
    for (std::size_t r = 0; r < stored_.size(); ++r) {
      if (now_.gamma[r] == 0.0) continue;
      store_->add(stored_[r], now_.gamma[r] * sign_[r], now_.w.data());
      now_.value += now_.gamma[r] * target_[r];
    }
    for (double value : now_.w) now_.value -= 0.5 * value * value;
  }

  // One Newton step on the margins of the free rows, shortened at the bounds.
  void correct() {
    const std::size_t n = now_.free.size();
    double imbalance = 0.0;
    for (std::size_t r = 0; r < stored_.size(); ++r) imbalance += sign_[r] * now_.gamma[r];
    step_.resize(n);
    balance_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      step_[i] = margin_excess(now_.free[i]);
      balance_[i] = sign_[now_.free[i]];
    }
    now_.factor.forward(step_.data());
    now_.factor.backward(step_.data());
    now_.factor.forward(balance_.data());
    double own = 0.0;
    for (double value : balance_) own += value * value;
    now_.factor.backward(balance_.data());
    double cross = 0.0;
    for (std::size_t i = 0; i < n; ++i) cross += sign_[now_.free[i]] * step_[i];
    const double shift = (imbalance - cross) / own;
    double length = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t r = now_.free[i];
      step_[i] = -step_[i] - shift * balance_[i];
      if (std::abs(step_[i]) > kNoStep) length = std::min(length, reach(r, step_[i]));
    }
    for (std::size_t i = 0; i < n; ++i) shift_multiplier(now_.free[i], length * step_[i]);
    now_.b += length * (shift - bias_ * imbalance);
    rebuild();
  }

  std::shared_ptr<const RowStore> store_;
  std::vector<std::int64_t> stored_;
  std::vector<double> sign_, target_, square_;
  double bias_ = 1.0;
  State now_, saved_;
  std::vector<double> scores_, half_, step_, balance_, rest_, rest_half_;
  double rest_bias_ = 0.0, norm_ = 0.0, patience_ = 1.0;
  std::vector<std::pair<double, std::size_t>> batch_;
  std::int64_t pivots_ = 0;
  double work_ = 0.0;  // multiplications so far, about
  std::size_t since_refresh_ = 0;
  int zero_steps_ = 0, stale_ = 0;
  double refreshed_value_ = 0.0;
  std::mt19937 random_{0};
  Watch watch_;
};

}  // namespace shortlist
