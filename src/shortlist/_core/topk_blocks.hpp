// The dual of the top-k problems, row by row.
//
//   max  sum_i alpha_{i,y_i} - 1/2 |W|^2 - sum_i ridge_i/2 |alpha_i|^2,   W = sum_i x_i alpha_i^T
//
// sweep():   block-coordinate ascent. A row's block is solved with the others fixed and W
//            follows. Rows that did not move rest for a growing number of sweeps.
// sweep_near(): the same over a few classes of each row: those in its dual, and those that
//            survey() found nearest to a violation when it last scored all of them.
// extrapolate(): the change since remember(), prolonged and projected.
// propose(): the proximal step of all rows at once for a given W, for Newton's method.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "topk.hpp"

namespace shortlist {

class TopKDual {
 public:
  TopKDual(TopKRow row, const std::int32_t* y, const double* c, const double* square,
           const double* ridge, std::size_t n)
      : row_(std::move(row)),
        y_(y, y + n),
        c_(c, c + n),
        square_(square, square + n),
        ridge_(ridge, ridge + n),
        beta_(n),
        near_(n),
        floor_(n, -std::numeric_limits<double>::infinity()),
        rest_(n, 0),
        wait_(n, 0),
        z_(row_.n_classes()),
        shifted_(row_.n_classes()),
        place_(row_.n_classes(), -1) {}

  std::size_t n_rows() const { return y_.size(); }
  std::int32_t n_classes() const { return row_.n_classes(); }
  bool remembers() const { return past_start_.size() == n_rows() + 1; }
  bool has_proposal() const { return start_.size() == n_rows() + 1; }
  bool has_curvature() const { return curve_start_.size() == n_rows() + 1; }
  const std::vector<DualEntry>& entries(std::size_t i) const { return beta_[i]; }
  // The last proposal: the entries of all rows, and where each row starts.
  const std::vector<DualEntry>& proposed() const { return proposed_; }
  const std::vector<std::size_t>& proposed_start() const { return start_; }

  // Visits the rows of `order`; returns how many were not resting. A row that does
  // not move rests longer and longer, up to `longest` sweeps. Ends early at the deadline.
  template <typename Scores>
  std::size_t sweep(Scores& scores, const std::int64_t* order, std::size_t count, bool exact,
                    int longest) {
    std::size_t visits = 0;
    Watch watch;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t i = static_cast<std::size_t>(order[s]);
      if (wait_[i] > 0) {
        --wait_[i];
        continue;
      }
      if (watch.late(scores.work(i))) break;
      ++visits;
      scores.scores(i, z_.data());
      const bool moved = step(scores, i, AllClasses{n_classes()}, exact) > 0.0;
      rest_[i] = moved ? 0 : std::min(longest, 2 * rest_[i] + 1);
      wait_[i] = rest_[i];
    }
    return visits;
  }

  // The first classes that sweep_near() looks at: `count` of each row, evenly spread over the
  // others from offset[i] on.
  void spread(const std::int64_t* offset, std::size_t count) {
    const auto others = static_cast<std::size_t>(n_classes() - 1);
    count = std::min(count, others);
    for (std::size_t i = 0; i < n_rows(); ++i) {
      near_[i].clear();
      for (std::size_t t = 0; t < count; ++t) {
        const auto from = static_cast<std::size_t>(y_[i]) + 1;
        const std::size_t skip = (static_cast<std::size_t>(offset[i]) + t * (others / count)) % others;
        near_[i].push_back(static_cast<std::int32_t>((from + skip) % (others + 1)));
      }
    }
  }
  bool has_near() const { return near_.empty() || !near_[0].empty(); }

  // Scores all classes of rows first..first + count: z holds their scores and is overwritten.
  // Keeps the `most` highest of each row for sweep_near(), at least k, and wakes its row. Adds
  // what evaluate() adds. Other threads may survey other rows meanwhile.
  void survey(double* z, std::size_t first, std::size_t count, std::size_t most,
              const double* scales, std::size_t n_scales, double* losses, double* sums) {
    const std::int32_t m = n_classes();
    most = std::min(std::max(most, row_.k()), static_cast<std::size_t>(m - 1));
    LazyOrder order;
    std::vector<double> top;
    Watch watch;
    for (std::size_t i = first; i < first + count; ++i, z += m) {
      watch.count(static_cast<std::size_t>(m));
      const std::int32_t y = y_[i];
      if (ridge_[i] > 0.0) add_own(beta_[i], y, ridge_[i], z);
      const double own = z[y];
      for (std::int32_t j = 0; j < m; ++j) z[j] -= own;
      // Last time's lowest, a little lower, is a good guess at where to cut.
      order.start(z, HighClasses{z, m, floor_[i]}, y);
      if (order.size() < most) order.start(z, AllClasses{m}, y);
      near_[i].clear();
      top.clear();
      for (std::size_t p = 0; p < most && order.has(p); ++p) {
        near_[i].push_back(order.label(p));
        if (p < row_.k()) top.push_back(order.value(p));
      }
      const double lowest = order.value(near_[i].size() - 1);
      floor_[i] = lowest - 0.25 * (order.value(0) - lowest);
      rest_[i] = wait_[i] = 0;
      row_.scaled_losses(top, c_[i], scales, n_scales, losses);
      const Sizes size = sizes(beta_[i]);
      sums[0] += size.sum;
      sums[1] += ridge_[i] * size.square;
    }
  }

  // sweep() over the classes that survey() or spread() left; `gain` is how much the dual rose.
  template <typename Scores>
  std::size_t sweep_near(Scores& scores, const std::int64_t* order, std::size_t count,
                         int longest, double& gain) {
    std::size_t visits = 0;
    Watch watch;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t i = static_cast<std::size_t>(order[s]);
      if (wait_[i] > 0) {
        --wait_[i];
        continue;
      }
      list_classes(i, near_[i]);
      if (watch.late(labels_.size() * scores.work_of_class(i))) break;
      ++visits;
      scores.some(i, labels_.data(), labels_.size(), z_.data());
      const double rise = step(scores, i, ListedClasses{labels_}, true);
      gain += rise;
      rest_[i] = rise > 0.0 ? 0 : std::min(longest, 2 * rest_[i] + 1);
      wait_[i] = rest_[i];
    }
    return visits;
  }

  // Adds over rows first..last: sum alpha_{i,y} and sum ridge_i |alpha_i|^2 to `sums`, and
  // to losses[t] the sum c_i Phi of the scores times scales[t].
  template <typename Scores>
  void evaluate(const Scores& scores, std::size_t first, std::size_t last, const double* scales,
                std::size_t n_scales, double* losses, double* sums) {
    const std::int32_t m = row_.n_classes();
    double* z = z_.data();
    Watch watch;
    for (std::size_t i = first; i < last; ++i) {
      watch.count(scores.work(i));
      scores.scores(i, z);
      if (ridge_[i] > 0.0) add_own(beta_[i], y_[i], ridge_[i], z);
      const double own = z[y_[i]];
      for (std::int32_t j = 0; j < m; ++j) z[j] -= own;
      row_.scaled_losses(z, y_[i], c_[i], scales, n_scales, losses);
      const Sizes size = sizes(beta_[i]);
      sums[0] += size.sum;
      sums[1] += ridge_[i] * size.square;
    }
  }

  // The proximal step from the present dual point for the model behind `scores`:
  //   max_alpha  <alpha, e_y - W^T x_i> - gamma/(2 c_i) |alpha - alpha_i|^2 - ridge_i/2 |alpha|^2.
  // The maximisers are kept aside and their model is added to `sum`. out: losses of the
  // scores plus ridge_i alpha, proximal values, sum alpha_y, sum ridge_i |alpha|^2.
  template <typename Scores, typename Model>
  void propose(const Scores& scores, Model& sum, double gamma, double* out) {
    start_.assign(1, 0);
    proposed_.clear();
    curve_start_.assign(1, 0);
    curves_.clear();
    const std::int32_t m = row_.n_classes();
    double *z = z_.data(), *a = shifted_.data();
    Watch watch;
    for (std::size_t i = 0; i < n_rows(); ++i) {
      watch.count(2 * scores.work(i));
      const std::int32_t y = y_[i];
      const double pull = gamma / c_[i], q = pull + ridge_[i];
      scores.scores(i, z);
      std::copy(z, z + m, a);
      add_own(beta_[i], y, -pull, a);
      TopKRow::margins(a, m, y);
      row_.solve(a, y, q, c_[i], next_);
      const std::size_t before = curves_.size();
      row_.curvature(y, curves_);
      for (std::size_t e = before; e < curves_.size(); ++e) curves_[e].value /= q;
      curve_start_.push_back(curves_.size());
      if (ridge_[i] > 0.0) add_own(next_, y, ridge_[i], z);
      TopKRow::margins(z, m, y);
      const Sizes size = sizes(next_);
      out[0] += c_[i] * row_.loss(z, y);
      out[1] += linear(a, next_) - 0.5 * q * size.square - 0.5 * pull * sizes(beta_[i]).square;
      out[2] += size.sum;
      out[3] += ridge_[i] * size.square;
      if (!next_.empty()) {
        difference({}, next_, y);
        sum.add(i, change_.data(), change_.size());
      }
      proposed_.insert(proposed_.end(), next_.begin(), next_.end());
      start_.push_back(proposed_.size());
    }
  }

  // Keeps the present dual point as the start of the next extrapolation.
  void remember() {
    past_start_.assign(1, 0);
    past_.clear();
    for (const auto& beta : beta_) {
      past_.insert(past_.end(), beta.begin(), beta.end());
      past_start_.push_back(past_.size());
    }
  }

  // Proposes, row by row, the projection of alpha + reach (alpha - remembered alpha) and adds
  // the model of the change d to `sum`. out: sum d_y, sum ridge_i <alpha_i, d_i>, sum
  // ridge_i |d_i|^2.
  template <typename Model>
  void extrapolate(double reach, Model& sum, double* out) {
    start_.assign(1, 0);
    proposed_.clear();
    double *v = z_.data(), *a = shifted_.data();
    Watch watch;
    for (std::size_t i = 0; i < n_rows(); ++i) {
      watch.count(sum.work(i));
      const std::int32_t y = y_[i];
      next_.assign(past_.begin() + past_start_[i], past_.begin() + past_start_[i + 1]);
      if (!same(next_, beta_[i])) {
        const auto project = [&](const auto& classes) {
          classes.each([&](std::int32_t j) { v[j] = 0.0; });
          add_own(beta_[i], y, 1.0 + reach, v);
          add_own(next_, y, -reach, v);
          // A class that never took part stays out, unless it gains more than rounding.
          const double least = 1e-9 * std::max(c_[i], std::abs(v[y]));
          classes.each([&](std::int32_t j) { a[j] = v[y] - v[j] - (v[j] == 0.0 ? least : 0.0); });
          a[y] = 0.0;
          row_.solve(a, classes, y, 1.0, c_[i], next_);
        };
        // Where steps look at a few classes, those that take part suffice, if k can share them.
        list_classes(i, next_);
        if (has_near() && labels_.size() > row_.k()) {
          project(ListedClasses{labels_});
        } else {
          project(AllClasses{n_classes()});
        }
        difference(beta_[i], next_, y);
        sum.add(i, change_.data(), change_.size());
        double square = 0.0;
        for (const DualEntry& e : change_) square += e.value * e.value;
        out[0] += change_.back().value;
        out[1] += 0.5 * ridge_[i] * (sizes(next_).square - sizes(beta_[i]).square - square);
        out[2] += ridge_[i] * square;
      }
      proposed_.insert(proposed_.end(), next_.begin(), next_.end());
      start_.push_back(proposed_.size());
    }
  }

  // Moves towards the last proposal: the whole way with step 1.
  void accept(double step) {
    for (std::size_t i = 0; i < n_rows(); ++i) {
      next_.assign(proposed_.begin() + start_[i], proposed_.begin() + start_[i + 1]);
      if (step == 1.0) {
        beta_[i] = next_;
      } else {
        blend(beta_[i], step);
      }
    }
  }

  // Adds the generalised Hessian of the last proposal, classes outside, features inside:
  // the upper triangle of sum_i J_i (x) x_i x_i^T, J_i from TopKRow::curvature.
  template <typename V>
  void hessian(const V* x, std::size_t d, double bias, double* h) {
    const std::size_t extra = bias == 0.0 ? 0 : 1, width = d + extra;
    const std::size_t side = width * static_cast<std::size_t>(row_.n_classes());
    feature_.resize(width);
    Watch watch;
    for (std::size_t i = 0; i < n_rows(); ++i) {
      watch.count((curve_start_[i + 1] - curve_start_[i]) * width * width);
      if (curve_start_[i] == curve_start_[i + 1]) continue;
      for (std::size_t f = 0; f < d; ++f) feature_[f] = x[i * d + f];
      if (extra) feature_[d] = bias;
      for (std::size_t e = curve_start_[i]; e < curve_start_[i + 1]; ++e) {
        const Curvature& t = curves_[e];
        double* block = h + static_cast<std::size_t>(t.i) * width * side + t.j * width;
        for (std::size_t f = 0; f < width; ++f) {
          const double value = t.value * feature_[f];
          double* to = block + f * side;
          for (std::size_t g = t.i == t.j ? f : 0; g < width; ++g) to[g] += value * feature_[g];
        }
      }
    }
  }

 private:
  struct Sizes {
    double sum;     // alpha_y
    double square;  // |alpha|^2
  };

  static Sizes sizes(const std::vector<DualEntry>& beta) {
    double sum = 0.0, square = 0.0;
    for (const DualEntry& e : beta) {
      sum += e.value;
      square += e.value * e.value;
    }
    return {sum, square + sum * sum};
  }

  static bool same(const std::vector<DualEntry>& a, const std::vector<DualEntry>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const DualEntry& s, const DualEntry& t) {
                        return s.label == t.label && s.value == t.value;
                      });
  }

  // z += factor * alpha
  static void add_own(const std::vector<DualEntry>& beta, std::int32_t y, double factor,
                      double* z) {
    for (const DualEntry& e : beta) {
      z[e.label] -= factor * e.value;
      z[y] += factor * e.value;
    }
  }

  static double linear(const double* a, const std::vector<DualEntry>& beta) {
    double sum = 0.0;
    for (const DualEntry& e : beta) sum += e.value * a[e.label];
    return sum;
  }

  // Solves block i for the scores in z_, or takes a Frank-Wolfe step in it; returns how much
  // the dual rose. The classes hold y and those of the row's dual.
  template <typename Scores, typename Classes>
  double step(Scores& scores, std::size_t i, const Classes& classes, bool exact) {
    const std::int32_t y = y_[i];
    const double q = square_[i] + ridge_[i];
    double *a = z_.data(), *others = shifted_.data();
    std::vector<DualEntry>& beta = beta_[i];
    // Where the quadratic term is lost in rounding, only the vertex is reliable.
    const bool solve = exact && q * c_[i] > 1e-10;
    if (solve) {
      classes.each([&](std::int32_t j) { others[j] = a[j]; });
      add_own(beta, y, -square_[i], others);
      TopKRow::margins(others, classes, y);
      row_.solve(others, classes, y, q, c_[i], next_);
    }
    if (ridge_[i] > 0.0) add_own(beta, y, ridge_[i], a);
    TopKRow::margins(a, classes, y);
    if (!solve) row_.vertex(a, classes, y, c_[i], next_);
    difference(beta, next_, y);
    const double rise = -linear(a, beta) + linear(a, next_);
    // Rounding may turn a rise of zero negative; a step backwards leaves the feasible set.
    if (!(rise > 0.0)) return 0.0;
    double curve = 0.0;
    for (const DualEntry& e : change_) curve += q * e.value * e.value;
    double length = 1.0;
    if (!solve && curve > rise) length = rise / curve;
    const double gain = length * (rise - 0.5 * length * curve);
    if (!(gain > 0.0)) return 0.0;
    if (length == 1.0) {
      beta.swap(next_);
    } else {
      blend(beta, length);
      for (DualEntry& e : change_) e.value *= length;
    }
    scores.add(i, change_.data(), change_.size());
    return gain;
  }

  // change_ = alpha of `next` minus alpha of `old`.
  void difference(const std::vector<DualEntry>& old, const std::vector<DualEntry>& next,
                  std::int32_t y) {
    change_.clear();
    double sum = 0.0;
    for (const DualEntry& e : next) {
      change_.push_back({e.label, -e.value});
      sum += e.value;
    }
    note(change_);
    for (const DualEntry& e : old) {
      sum -= e.value;
      if (place_[e.label] >= 0) {
        change_[place_[e.label]].value += e.value;
      } else {
        change_.push_back(e);
      }
    }
    forget(change_);
    change_.push_back({y, sum});
  }

  // beta += step (next_ - beta)
  void blend(std::vector<DualEntry>& beta, double step) {
    for (DualEntry& e : beta) e.value *= 1.0 - step;
    note(beta);
    for (const DualEntry& e : next_) {
      if (place_[e.label] >= 0) {
        beta[place_[e.label]].value += step * e.value;
      } else {
        beta.push_back({e.label, step * e.value});
      }
    }
    forget(beta);
  }

  // labels_ = the classes of row i's dual, those of `more`, and the row's own.
  template <typename Labels>
  void list_classes(std::size_t i, const Labels& more) {
    labels_.clear();
    for (const DualEntry& e : beta_[i]) labels_.push_back(e.label);
    note(beta_[i]);
    for (const auto& item : more) {
      if (place_[label_of(item)] < 0) labels_.push_back(label_of(item));
    }
    forget(beta_[i]);
    labels_.push_back(y_[i]);
  }
  static std::int32_t label_of(std::int32_t label) { return label; }
  static std::int32_t label_of(const DualEntry& entry) { return entry.label; }

  // Where the entry of a class is in `list`, -1 for none: a search would take the square of
  // the entries, thousands where there are many classes.
  void note(const std::vector<DualEntry>& list) {
    for (std::size_t at = 0; at < list.size(); ++at) {
      place_[list[at].label] = static_cast<std::int32_t>(at);
    }
  }

  void forget(const std::vector<DualEntry>& list) {
    for (const DualEntry& e : list) place_[e.label] = -1;
  }

  TopKRow row_;
  std::vector<std::int32_t> y_;
  std::vector<double> c_, square_, ridge_;
  std::vector<std::vector<DualEntry>> beta_;
  std::vector<std::vector<std::int32_t>> near_;
  std::vector<double> floor_;
  std::vector<int> rest_, wait_;
  std::vector<double> z_, shifted_;
  std::vector<std::int32_t> place_, labels_;
  std::vector<double> feature_;
  std::vector<DualEntry> next_, change_, proposed_, past_;
  std::vector<std::size_t> start_, past_start_, curve_start_;
  std::vector<Curvature> curves_;
};

}  // namespace shortlist
