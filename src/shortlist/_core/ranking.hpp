// Sums over ordered pairs of rows that are never formed.
//
// Items are listed by segment and, inside a segment, by rising key. A pair is an
// upper item i and a lower item j of one segment with key_i > key_j; its violation
// is z = 1 - f_i + f_j. Divide and conquer over the keys: both halves come back
// sorted by score, so that the partners of every item are a prefix or a suffix of
// the other half, and two sweeps visit them all. O(n log n) time, O(n) memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shortlist {

enum Role : std::uint8_t { kUpper = 1, kLower = 2 };

struct PairPlan {
  const std::int64_t* start;  // n_segments + 1
  const std::int32_t* key;    // per item, rising inside a segment
  const std::uint8_t* role;   // per item, bits of Role
  const std::int32_t* row;    // per item
  std::size_t n_segments;
};

// An item during the merge: its score and its position relative to the segment.
struct Scored {
  double f;
  std::uint32_t at;
};

// One predicate for both sweeps: a rounded difference is monotone in either
// argument, so that both see the same pairs.
inline bool violates_more(double f_upper, double f_lower, double least) {
  return f_lower - f_upper + 1.0 > least;
}

// Calls visit(lower half, upper half) for every split of the keys and returns
// with the items sorted by score.
template <typename Visit>
class KeySplit {
 public:
  KeySplit(const std::int32_t* key, std::vector<Scored>& items, std::vector<Scored>& spare,
           Visit& visit)
      : key_(key), items_(items.data()), spare_(spare.data()), visit_(visit) {}

  void run(std::size_t low, std::size_t high) {
    const std::size_t cut = split(low, high);
    const auto by_score = [](const Scored& a, const Scored& b) { return a.f < b.f; };
    if (cut == low) {
      std::sort(items_ + low, items_ + high, by_score);
      return;
    }
    run(low, cut);
    run(cut, high);
    visit_(items_ + low, items_ + cut, items_ + high);
    std::merge(items_ + low, items_ + cut, items_ + cut, items_ + high, spare_ + low, by_score);
    std::copy(spare_ + low, spare_ + high, items_ + low);
  }

 private:
  // The change of key nearest to the middle; `low` if all keys are equal.
  std::size_t split(std::size_t low, std::size_t high) const {
    const std::size_t middle = low + (high - low) / 2;
    if (middle == low) return low;
    if (key_[middle - 1] != key_[middle]) return middle;
    const auto range = std::equal_range(key_ + low, key_ + high, key_[middle]);
    const std::size_t before = range.first - key_, after = range.second - key_;
    if (before == low && after == high) return low;
    if (before == low) return after;
    if (after == high) return before;
    return middle - before <= after - middle ? before : after;
  }

  const std::int32_t* key_;
  Scored* items_;
  Scored* spare_;
  Visit& visit_;
};

template <typename Visit>
void for_each_segment(const PairPlan& plan, const double* f, Visit& visit) {
  std::vector<Scored> items, spare;
  for (std::size_t s = 0; s < plan.n_segments; ++s) {
    const std::size_t begin = plan.start[s], n = plan.start[s + 1] - begin;
    if (items.size() < n) {
      items.resize(n);
      spare.resize(n);
    }
    for (std::size_t p = 0; p < n; ++p) {
      items[p] = {f[plan.row[begin + p]], static_cast<std::uint32_t>(p)};
    }
    visit.open(begin, n);
    KeySplit<Visit>(plan.key + begin, items, spare, visit).run(0, n);
    visit.close();
  }
}

struct PairTotals {
  double violated;  // weight of the pairs with z > 0
  double clipped;   // their sum of min(z, width)
};

// For every row, signed sums over the violated pairs it is part of (plus as the
// upper row, minus as the lower): `vertex` of the weight, `clipped` of
// weight x min(z, width). `degree`: weight of its partners with 0 < z < width.
class ViolationSums {
 public:
  ViolationSums(const PairPlan& plan, const double* weight, double width, double* vertex,
                double* clipped, double* degree)
      : plan_(plan), weight_(weight), width_(width), vertex_(vertex), clipped_(clipped),
        degree_(degree) {}

  PairTotals totals{0.0, 0.0};

  void open(std::size_t begin, std::size_t n) {
    begin_ = begin;
    lower_.assign(n, 0.0);
    upper_.assign(n, 0.0);
    sums_.assign(n, Sums{});
    for (std::size_t p = 0; p < n; ++p) {
      const double w = weight_[plan_.row[begin + p]];
      if (plan_.role[begin + p] & kUpper) upper_[p] = w;
      if (plan_.role[begin + p] & kLower) lower_[p] = w;
    }
  }

  void operator()(const Scored* low, const Scored* middle, const Scored* high) {
    const bool flat = std::isinf(width_);
    Running all, far;
    const Scored *p = middle, *q = middle;
    for (const Scored* i = high; i-- != middle;) {
      if (upper_[i->at] == 0.0) continue;
      for (; p != low && violates_more(i->f, p[-1].f, 0.0); --p) all.add(lower_[p[-1].at], p[-1].f);
      if (p == middle) continue;
      if (!flat) {
        for (; q != low && violates_more(i->f, q[-1].f, width_); --q) {
          far.add(lower_[q[-1].at], q[-1].f);
        }
      }
      const double near = all.weight - far.weight;
      const double clipped = (1.0 - i->f) * near + (all.score - far.score) +
                             (flat ? 0.0 : width_ * far.weight);
      sums_[i->at].add(all.weight, clipped, near);
      totals.violated += upper_[i->at] * all.weight;
      totals.clipped += upper_[i->at] * clipped;
    }
    all = far = Running{};
    p = q = middle;
    for (const Scored* j = low; j != middle; ++j) {
      if (lower_[j->at] == 0.0) continue;
      for (; p != high && violates_more(p->f, j->f, 0.0); ++p) all.add(upper_[p->at], p->f);
      if (p == middle) continue;
      if (!flat) {
        for (; q != high && violates_more(q->f, j->f, width_); ++q) far.add(upper_[q->at], q->f);
      }
      const double near = all.weight - far.weight;
      const double clipped = (1.0 + j->f) * near - (all.score - far.score) +
                             (flat ? 0.0 : width_ * far.weight);
      sums_[j->at].add(-all.weight, -clipped, near);
    }
  }

  void close() {
    for (std::size_t p = 0; p < sums_.size(); ++p) {
      const std::size_t row = plan_.row[begin_ + p];
      vertex_[row] += weight_[row] * sums_[p].vertex;
      clipped_[row] += weight_[row] * sums_[p].clipped;
      degree_[row] += sums_[p].degree;
    }
  }

 private:
  struct Running {
    double weight = 0.0, score = 0.0;
    void add(double w, double f) {
      weight += w;
      score += w * f;
    }
  };
  struct Sums {
    double vertex = 0.0, clipped = 0.0, degree = 0.0;
    void add(double v, double c, double d) {
      vertex += v;
      clipped += c;
      degree += d;
    }
  };

  const PairPlan& plan_;
  const double* weight_;
  double width_;
  double *vertex_, *clipped_, *degree_;
  std::size_t begin_ = 0;
  std::vector<double> lower_, upper_;
  std::vector<Sums> sums_;
};

// out_i += sum of weight_j values_j over the partners j of row i with 0 < z < width;
// `values` and `out` have `n_columns` columns.
class PartnerSums {
 public:
  PartnerSums(const PairPlan& plan, const double* weight, double width, const double* values,
              double* out, std::size_t n_columns)
      : plan_(plan), weight_(weight), width_(width), values_(values), out_(out),
        columns_(n_columns), near_(n_columns) {}

  void open(std::size_t begin, std::size_t n) {
    begin_ = begin;
    value_.resize(n * columns_);
    sums_.assign(n * columns_, 0.0);
    for (std::size_t p = 0; p < n; ++p) {
      const std::size_t row = plan_.row[begin + p];
      for (std::size_t c = 0; c < columns_; ++c) {
        value_[p * columns_ + c] = weight_[row] * values_[row * columns_ + c];
      }
    }
  }

  void operator()(const Scored* low, const Scored* middle, const Scored* high) {
    const bool flat = std::isinf(width_);
    clear();
    const Scored *p = middle, *q = middle;
    for (const Scored* i = high; i-- != middle;) {
      if (!has(i->at, kUpper)) continue;
      for (; p != low && violates_more(i->f, p[-1].f, 0.0); --p) include(p[-1].at, kLower, 1.0);
      if (p == middle) continue;
      if (!flat) {
        for (; q != low && violates_more(i->f, q[-1].f, width_); --q) {
          include(q[-1].at, kLower, -1.0);
        }
      }
      store(i->at);
    }
    clear();
    p = q = middle;
    for (const Scored* j = low; j != middle; ++j) {
      if (!has(j->at, kLower)) continue;
      for (; p != high && violates_more(p->f, j->f, 0.0); ++p) include(p->at, kUpper, 1.0);
      if (p == middle) continue;
      if (!flat) {
        for (; q != high && violates_more(q->f, j->f, width_); ++q) include(q->at, kUpper, -1.0);
      }
      store(j->at);
    }
  }

  void close() {
    const std::size_t n = sums_.size() / columns_;
    for (std::size_t p = 0; p < n; ++p) {
      double* out = out_ + static_cast<std::size_t>(plan_.row[begin_ + p]) * columns_;
      for (std::size_t c = 0; c < columns_; ++c) out[c] += sums_[p * columns_ + c];
    }
  }

 private:
  bool has(std::uint32_t at, Role role) const { return plan_.role[begin_ + at] & role; }
  void clear() { std::fill(near_.begin(), near_.end(), 0.0); }
  void include(std::uint32_t at, Role role, double sign) {
    if (!has(at, role)) return;
    const double* value = value_.data() + at * columns_;
    for (std::size_t c = 0; c < columns_; ++c) near_[c] += sign * value[c];
  }
  void store(std::uint32_t at) {
    double* sums = sums_.data() + at * columns_;
    for (std::size_t c = 0; c < columns_; ++c) sums[c] += near_[c];
  }

  const PairPlan& plan_;
  const double* weight_;
  double width_;
  const double* values_;
  double* out_;
  std::size_t columns_, begin_ = 0;
  std::vector<double> near_, value_, sums_;
};

}  // namespace shortlist
