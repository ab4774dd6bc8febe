// Shares of cutting planes: the best point of a polytope.
//
//   max  loss.s - 1/2 s^T product s,  s >= 0, sum s = 1.
//
// Planes with a share are in use; over them the optimum is a linear system. A step to it that
// would make a share negative ends there and drops the plane; the plane that the shares violate
// most comes in. Every point on the way is feasible. The sum is one, so a constant added to all
// products changes nothing, and makes the system positive definite.
// P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "gram_factor.hpp"
#include "interrupt.hpp"

namespace shortlist {

class PlaneShares {
 public:
  // The first n rows and columns of a matrix with rows of length `stride`.
  PlaneShares(const double* product, std::size_t stride, const double* loss, double* share,
              std::size_t n)
      : product_(product), stride_(stride), loss_(loss), share_(share), n_(n), closed_(n) {
    for (std::size_t r = 0; r < n; ++r) unit_ = std::max(unit_, at(r, r));
    if (!(unit_ > 0.0)) unit_ = 1.0;
    for (std::size_t r = 0; r < n; ++r) {
      if (share[r] > 0.0) enter(r);
    }
  }

  // Until no plane is violated by more than `tolerance`, or rounding allows no progress.
  void optimise(double tolerance, std::int64_t most) {
    double level = 0.0;
    for (std::size_t r : used_) level += pull_of(r) / static_cast<double>(used_.size());
    while (most-- > 0) {
      watch_.count(n_ * used_.size() + 4 * used_.size() * used_.size());
      std::size_t worst = n_;
      double violation = tolerance;
      for (std::size_t r = 0; r < n_; ++r) {
        if (closed_[r]) continue;
        const double excess = pull_of(r) - level;
        if (excess > violation) {
          violation = excess;
          worst = r;
        }
      }
      if (worst == n_) return;
      enter(worst);
      settle(worst, level);
    }
  }

 private:
  static constexpr double kRidge = 1e-14;  // planes that depend on each other keep a system

  double at(std::size_t a, std::size_t b) const { return product_[a * stride_ + b]; }

  double pull_of(std::size_t r) const {
    double sum = 0.0;
    const double* row = product_ + r * stride_;
    for (std::size_t u : used_) sum += row[u] * share_[u];
    return loss_[r] - sum;
  }

  // In units of the largest square.
  void enter(std::size_t r) {
    half_.resize(used_.size());
    for (std::size_t i = 0; i < used_.size(); ++i) half_[i] = at(used_[i], r) / unit_ + 1.0;
    factor_.forward(half_.data());
    const double rest =
        at(r, r) / unit_ + 1.0 + kRidge - dot(half_.data(), half_.data(), half_.size());
    factor_.append(half_.data(), std::max(rest, kRidge));
    used_.push_back(r);
    closed_[r] = 1;
  }

  void leave(std::size_t place) {
    closed_[used_[place]] = 0;
    factor_.remove(place);
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // A plane that would leave at once: rounding brought it in, and it stays away.
  void refuse(std::size_t newest) {
    const auto found = std::find(used_.begin(), used_.end(), newest);
    if (found == used_.end() || used_.size() == 1) return;
    share_[newest] = 0.0;
    leave(static_cast<std::size_t>(found - used_.begin()));
    closed_[newest] = 1;
  }

  // Moves to the optimum over the planes in use, some of which may leave; `level` is theirs.
  void settle(std::size_t newest, double& level) {
    while (true) {
      const std::size_t q = used_.size();
      wanted_.resize(q);
      ones_.assign(q, 1.0);
      for (std::size_t i = 0; i < q; ++i) wanted_[i] = loss_[used_[i]] / unit_;
      factor_.forward(wanted_.data());
      factor_.backward(wanted_.data());
      factor_.forward(ones_.data());
      factor_.backward(ones_.data());
      double sum = 0.0, unit_sum = 0.0;
      for (std::size_t i = 0; i < q; ++i) {
        sum += wanted_[i];
        unit_sum += ones_[i];
      }
      const double shift = (sum - 1.0) / unit_sum;
      bool finite = std::isfinite(shift);
      std::size_t leaving = q;
      double reach = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < q; ++i) {
        wanted_[i] -= shift * ones_[i];
        finite = finite && std::isfinite(wanted_[i]);
        if (wanted_[i] < 0.0) {
          const double old = share_[used_[i]], length = old / (old - wanted_[i]);
          if (length < reach) {
            reach = length;
            leaving = i;
          }
        }
      }
      if (!finite) return refuse(newest);
      if (leaving == q) {
        set_shares(wanted_);
        level = unit_ * (shift + 1.0);
        return;
      }
      double total = 0.0;
      for (std::size_t i = 0; i < q; ++i) {
        const double old = share_[used_[i]];
        wanted_[i] = std::max(old + reach * (wanted_[i] - old), 0.0);
        if (i == leaving) wanted_[i] = 0.0;
        total += wanted_[i];
      }
      if ((reach == 0.0 && used_[leaving] == newest) || !(std::abs(total - 1.0) < 0.5)) {
        return refuse(newest);
      }
      set_shares(wanted_);
      leave(leaving);
    }
  }

  void set_shares(const std::vector<double>& values) {
    double total = 0.0;
    for (double value : values) total += value;
    for (std::size_t i = 0; i < used_.size(); ++i) share_[used_[i]] = values[i] / total;
  }

  const double* product_;
  std::size_t stride_;
  const double* loss_;
  double* share_;
  std::size_t n_;
  double unit_ = 0.0;
  std::vector<char> closed_;  // in use, or refused
  std::vector<std::size_t> used_;
  GramFactor factor_;
  std::vector<double> half_, wanted_, ones_;
  Watch watch_;
};

}  // namespace shortlist
