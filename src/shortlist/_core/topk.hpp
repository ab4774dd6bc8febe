// The weighted top-k hinge of one row: its value, its vertex and the exact
// solution of its block of the dual.
//
//   Phi(s; y) = [ sum_j rho_j a_(j) ]_+ ,   a = 1 - e_y + s - s_y 1
//             = max <beta, a>  over  beta in zeta * Perm(rho), 0 <= zeta <= 1,
//
// Perm(rho) is the permutahedron of rho. The coordinate beta_y is free to take
// up what the others leave (a_y = 0). The pseudo loss drops coordinate y.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shortlist {

// A nonzero dual weight of a row: alpha_class = -value, alpha_y = sum of values.
struct DualEntry {
  std::int32_t label;
  double value;
};

// One entry (i, j), i <= j, of a symmetric matrix over the classes.
struct Curvature {
  std::int32_t i, j;
  double value;
};

// Which classes a step looks at: all, the listed ones, or those with a value of at least `floor`.
struct AllClasses {
  std::int32_t m;

  template <typename Use>
  void each(Use use) const {
    for (std::int32_t j = 0; j < m; ++j) use(j);
  }
};

struct ListedClasses {
  const std::vector<std::int32_t>& labels;

  template <typename Use>
  void each(Use use) const {
    for (std::int32_t j : labels) use(j);
  }
};

struct HighClasses {
  const double* a;
  std::int32_t m;
  double floor;

  template <typename Use>
  void each(Use use) const {
    // Most groups hold none, and one comparison for all of a group is fast.
    constexpr std::int32_t kGroup = 16;
    std::int32_t j = 0;
    for (; j + kGroup <= m; j += kGroup) {
      int any = 0;
      for (std::int32_t t = 0; t < kGroup; ++t) any |= a[j + t] >= floor;
      if (!any) continue;
      for (std::int32_t t = j; t < j + kGroup; ++t) {
        if (a[t] >= floor) use(t);
      }
    }
    for (; j < m; ++j) {
      if (a[j] >= floor) use(j);
    }
  }
};

// Orders classes of one row by a, highest first, as far as anyone asks.
class LazyOrder {
 public:
  template <typename Classes>
  void start(const double* a, const Classes& classes, std::int32_t without) {
    items_.clear();
    classes.each([&](std::int32_t j) {
      if (j != without) items_.push_back({a[j], j});
    });
    sorted_ = 0;
  }

  // Whether there is a p-th highest (from 0); sorts at least that far.
  bool has(std::size_t p) {
    if (p >= items_.size()) return false;
    if (p >= sorted_) grow(p + 1);
    return true;
  }

  std::size_t size() const { return items_.size(); }
  double value(std::size_t p) const { return items_[p].first; }
  std::int32_t label(std::size_t p) const { return items_[p].second; }

 private:
  void grow(std::size_t least) {
    const auto higher = [](const Item& a, const Item& b) {
      return a.first > b.first || (a.first == b.first && a.second < b.second);
    };
    const std::size_t upto = std::min(items_.size(), std::max(least, 4 * sorted_) + 2);
    const auto first = items_.begin() + sorted_, last = items_.begin() + upto;
    // A heap suits the few of a settled row; of many it costs several times a selection.
    if (upto - sorted_ <= kFew) {
      std::partial_sort(first, last, items_.end(), higher);
    } else {
      if (last != items_.end()) std::nth_element(first, last, items_.end(), higher);
      std::sort(first, last, higher);
    }
    sorted_ = upto;
  }

  static constexpr std::size_t kFew = 16;

  using Item = std::pair<double, std::int32_t>;
  std::vector<Item> items_;
  std::size_t sorted_ = 0;
};

class TopKRow {
 public:
  // rho: the leading nonzero weights, not increasing.
  TopKRow(const double* rho, std::size_t k, std::int32_t m, bool pseudo)
      : rho_(rho, rho + k), m_(m), pseudo_(pseudo) {
    for (double r : rho_) total_ += r;
  }

  std::int32_t n_classes() const { return m_; }
  std::size_t k() const { return rho_.size(); }

  // Turns scores into a, in place.
  template <typename Classes>
  static void margins(double* z, const Classes& classes, std::int32_t y) {
    const double shift = 1.0 - z[y];
    classes.each([&](std::int32_t j) { z[j] += shift; });
    z[y] = 0.0;
  }
  static void margins(double* z, std::int32_t m, std::int32_t y) { margins(z, AllClasses{m}, y); }

  // The vertex c rho on the k highest classes, y left out; empty where the loss is zero.
  template <typename Classes>
  void vertex(const double* a, const Classes& classes, std::int32_t y, double c,
              std::vector<DualEntry>& out) {
    order_.start(a, classes, pseudo_ ? y : -1);
    out.clear();
    double sum = 0.0;
    for (std::size_t p = 0; p < rho_.size() && order_.has(p); ++p) {
      sum += rho_[p] * order_.value(p);
      if (order_.label(p) != y) out.push_back({order_.label(p), c * rho_[p]});
    }
    if (sum <= 0.0) out.clear();
  }

  double loss(const double* a, std::int32_t y) {
    if (rho_.size() == 1 && !pseudo_) {
      return std::max(0.0, rho_[0] * *std::max_element(a, a + m_));
    }
    keep_top(a, pseudo_ ? y : -1);
    double sum = 0.0;
    for (std::size_t p = 0; p < top_.size(); ++p) sum += rho_[p] * top_[p];
    return std::max(0.0, sum);
  }

  // losses[t] += c Phi of the scores times scales[t]; `relative` holds s - s_y.
  void scaled_losses(const double* relative, std::int32_t y, double c, const double* scales,
                     std::size_t count, double* losses) {
    keep_top(relative, y);
    scaled_losses(top_, c, scales, count, losses);
  }

  // The same of the k highest s - s_y of the other classes, whose order no scale changes.
  void scaled_losses(const std::vector<double>& top, double c, const double* scales,
                     std::size_t count, double* losses) const {
    for (std::size_t t = 0; t < count; ++t) {
      double sum = 0.0;
      bool own_seen = pseudo_;
      std::size_t p = 0;
      for (double r : rho_) {
        const double next = p < top.size() ? 1.0 + scales[t] * top[p] : -1.0;
        if (!own_seen && next < 0.0) {
          own_seen = true;
        } else if (p < top.size()) {
          sum += r * next;
          ++p;
        }
      }
      losses[t] += c * std::max(0.0, sum);
    }
  }

  // max <beta, a> - q/2 (sum_{j != y} beta_j^2 + (sum_{j != y} beta_j)^2) over
  // beta in c * zeta * Perm(rho), 0 <= zeta <= 1.
  //
  // For a fixed zeta the block is the projection of (a_j, at y: q c zeta R) on
  // q c zeta Perm(rho): sort, then isotonic regression. The pools y_P of the regression
  // give the derivative in zeta, piecewise linear and increasing, so that safeguarded
  // Newton steps end on its root; zeta = 1 is tried first.
  //
  // Of a part of the classes, at least k besides y, the others stay at zero.
  void solve(const double* a, std::int32_t y, double q, double c, std::vector<DualEntry>& out) {
    solve(a, AllClasses{m_}, y, q, c, out);
  }
  template <typename Classes>
  void solve(const double* a, const Classes& classes, std::int32_t y, double q, double c,
             std::vector<DualEntry>& out) {
    out.clear();
    pools_.clear();
    scale_free_ = false;
    order_.start(a, classes, y);
    weight_ = q * c;
    if (at_zero() <= 0.0) return;
    double zeta = 1.0, low = 0.0, high = 1.0;
    for (int step = 0; step < 60; ++step) {
      pool(zeta);
      if (step == 0 && slope_ <= 0.0) break;
      // Relative to zeta: far below its bound the block must not lose its digits.
      if (std::abs(slope_) <= 1e-14 * (magnitude_ + weight_ * zeta * total_)) break;
      (slope_ > 0.0 ? high : low) = zeta;
      double next = curvature_ > 0.0 ? zeta - slope_ / curvature_ : 0.5 * (low + high);
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (std::abs(next - zeta) <= 1e-15 * zeta) break;
      zeta = next;
    }
    read(q, zeta * c, out);
    // Where all weights meet in the pool of y the scale does not matter.
    scale_free_ = zeta < 1.0 && curvature_ > 1e-12 * weight_ * total_ * total_;
  }

  // Appends q J of the last solution, J = -d alpha / d scores. Every pool P adds the centring matrix I - 11^T/|P|; a free zeta adds u u^T.
  void curvature(std::int32_t y, std::vector<Curvature>& out) {
    members_.clear();
    double own_u = 0.0;
    std::size_t p = 0, own_at = static_cast<std::size_t>(-1);
    std::size_t block = 0;
    for (const Pool& pool : pools_) {
      const double s = static_cast<double>(pool.size);
      const double u = (pool.own ? pool.weight - total_ : pool.weight) / s;
      for (std::size_t left = pool.size - (pool.own ? 1 : 0); left > 0; --left, ++p) {
        members_.push_back({order_.label(p), block, s, u});
        own_u -= u;
      }
      if (pool.own) {
        own_at = members_.size();
        members_.push_back({y, block, s, 0.0});
      }
      ++block;
    }
    if (scale_free_) {
      if (own_at == static_cast<std::size_t>(-1)) {
        own_at = members_.size();
        members_.push_back({y, block, 1.0, 0.0});
      }
      members_[own_at].u = own_u;
    }
    const double kappa = curvature_ / weight_;
    for (std::size_t a = 0; a < members_.size(); ++a) {
      for (std::size_t b = a; b < members_.size(); ++b) {
        const Member &first = members_[a], &second = members_[b];
        double value = 0.0;
        if (first.block == second.block) value = (a == b ? 1.0 : 0.0) - 1.0 / first.size;
        if (scale_free_) value += first.u * second.u / kappa;
        if (value != 0.0) {
          out.push_back({std::min(first.label, second.label),
                         std::max(first.label, second.label), value});
        }
      }
    }
  }

 private:
  struct Pool {
    double sum;        // of a - weight * zeta * rho
    double weight;     // of rho
    std::size_t size;
    bool own;          // holds the coordinate of y
    double mean() const { return sum / static_cast<double>(size); }
  };

  // top_ = the k highest values, in order.
  void keep_top(const double* a, std::int32_t without) {
    const std::size_t k = rho_.size();
    top_.clear();
    for (std::int32_t j = 0; j < m_; ++j) {
      if (j == without || (top_.size() == k && a[j] <= top_.back())) continue;
      if (top_.size() == k) top_.pop_back();
      top_.insert(std::upper_bound(top_.begin(), top_.end(), a[j],
                                   [](double x, double held) { return x > held; }),
                  a[j]);
    }
  }

  struct Member {
    std::int32_t label;
    std::size_t block;
    double size;
    double u;
  };

  // Minus the derivative of the block objective at zeta = 0, up to scale.
  double at_zero() {
    double sum = 0.0;
    magnitude_ = 0.0;
    bool own_seen = pseudo_;
    std::size_t p = 0;
    for (double r : rho_) {
      double v = 0.0;
      if (order_.has(p) && (own_seen || order_.value(p) >= 0.0)) {
        v = order_.value(p++);
      } else {
        if (own_seen) break;
        own_seen = true;
      }
      sum += r * v;
      magnitude_ = std::max(magnitude_, std::abs(v));
    }
    return sum;
  }

  // Isotonic regression of the sorted coordinates minus the sorted weights.
  void pool(double zeta) {
    pools_.clear();
    const double scale = weight_ * zeta;
    const double own = scale * total_;
    bool own_seen = pseudo_;
    std::size_t p = 0;
    for (std::size_t rank = 0;; ++rank) {
      const bool other = order_.has(p);
      if (!other && own_seen) break;
      const bool take_own = !own_seen && (!other || own > order_.value(p));
      const double v = take_own ? own : order_.value(p);
      // Beyond k the weights are zero: an item below the last pool stays at zero.
      if (rank >= rho_.size() && v <= pools_.back().mean()) break;
      const double r = rank < rho_.size() ? rho_[rank] : 0.0;
      if (take_own) {
        own_seen = true;
      } else {
        ++p;
      }
      pools_.push_back({v - scale * r, r, 1, take_own});
      while (pools_.size() > 1 &&
             pools_[pools_.size() - 2].mean() <= pools_.back().mean()) {
        const Pool last = pools_.back();
        pools_.pop_back();
        Pool& into = pools_.back();
        into.sum += last.sum;
        into.weight += last.weight;
        into.size += last.size;
        into.own = into.own || last.own;
      }
    }
    slope_ = curvature_ = 0.0;
    bool own_pooled = pseudo_;
    for (const Pool& pool : pools_) {
      const double w = pool.own ? pool.weight - total_ : pool.weight;
      slope_ -= pool.mean() * w;
      curvature_ += w * w / static_cast<double>(pool.size);
      own_pooled = own_pooled || pool.own;
    }
    // Left out of the pools, or out of the loss, y adds (zeta R)^2 / 2.
    if (pseudo_ || !own_pooled) {
      slope_ += own * total_;
      curvature_ += total_ * total_;
    }
    curvature_ *= weight_;
  }

  // beta = (a - pool mean) / q + its share of the weights; zero outside the pools.
  // Differences are taken within a pool, so that a small q costs no digits.
  void read(double q, double scale, std::vector<DualEntry>& out) {
    const double own = q * scale * total_;
    std::size_t p = 0;
    for (const Pool& pool : pools_) {
      const std::size_t count = pool.size - (pool.own ? 1 : 0);
      if (count == 0) continue;
      const double size = static_cast<double>(pool.size), reference = order_.value(p);
      double mean = pool.own ? own - reference : 0.0;
      for (std::size_t e = p; e < p + count; ++e) mean += order_.value(e) - reference;
      mean /= size;
      const double share = scale * pool.weight / size;
      for (const std::size_t end = p + count; p < end; ++p) {
        const double beta = (order_.value(p) - reference - mean) / q + share;
        if (beta > 0.0) out.push_back({order_.label(p), std::min(beta, scale * rho_[0])});
      }
    }
  }

  std::vector<double> rho_;
  std::int32_t m_;
  bool pseudo_;
  double total_ = 0.0, weight_ = 0.0, magnitude_ = 0.0;
  double slope_ = 0.0, curvature_ = 0.0;
  LazyOrder order_;
  std::vector<Pool> pools_;
  std::vector<Member> members_;
  bool scale_free_ = false;
  std::vector<double> top_;
};

}  // namespace shortlist
