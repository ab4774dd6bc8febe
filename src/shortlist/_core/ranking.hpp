// Sums over ordered pairs of rows that are never formed.
//
// Items are listed by segment and, inside a segment, by rising key. A pair is an
// upper item i and a lower item j of one segment with key_i > key_j; its violation
// is z = 1 - f_i + f_j. Sorted by score, the partners of an item are a suffix (of
// an upper item) or a prefix (of a lower item). The keys are halved again and again
// by stable partition, as in a wavelet tree: every pair parts at one node, where
// prefix sums over one half answer all items of the other, and the ends of the
// suffixes and prefixes are carried to the halves by counting. No comparison of
// scores after the one sort: O(n log n) time, O(n) memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "interrupt.hpp"
#include "score_sort.hpp"

namespace shortlist {

enum Role : std::uint32_t { kUpper = 1, kLower = 2 };

template <typename I>
struct PairPlan {
  const std::int64_t* start;  // n_segments + 1
  const I* key;               // per item, rising inside a segment
  const std::uint8_t* role;   // per item, bits of Role
  const I* row;               // per item
  std::size_t n_segments;
};

// An item of the current node, whose items are in order of score. As an upper item
// it violates pairs with the lower items from `violated` on, by more than the width
// from `far` on; as a lower item with the upper items before `violates`, by more
// than the width before `violates_far`.
struct PairItem {
  double f;
  double as_upper, as_lower;  // its weight in either role, 0 where it has not that role
  std::uint32_t at;
  std::uint32_t violated, far, violates, violates_far;
};

inline double violation(double f_upper, double f_lower) { return f_lower - f_upper + 1.0; }

struct PairWeights {
  double weight = 0.0, score = 0.0;
};

struct PairRowSums {
  double vertex = 0.0, clipped = 0.0, curved = 0.0, degree = 0.0;
  void add(double v, double c, double u, double d) {
    vertex += v;
    clipped += c;
    curved += u;
    degree += d;
  }
};

// What a walk writes on. A solver makes many walks over the same rows, and fresh memory costs
// about as much as half a walk: a thread keeps what is not large for the next one.
struct PairRoom {
  ScoreSort sort;
  std::vector<PairItem> items, spare;
  std::vector<std::uint32_t> count;
  std::vector<double> score;
  std::vector<PairWeights> lower, upper;
  std::vector<PairRowSums> sums;
  std::vector<double> columns;
  std::vector<std::uint32_t> lower_before;
  bool taken = false;

  std::size_t bytes() const {
    return sort.bytes() + (items.capacity() + spare.capacity()) * sizeof(PairItem) +
           (count.capacity() + lower_before.capacity()) * sizeof(std::uint32_t) +
           (lower.capacity() + upper.capacity()) * sizeof(PairWeights) +
           sums.capacity() * sizeof(PairRowSums) +
           (score.capacity() + columns.capacity()) * sizeof(double);
  }
};

// The room of this thread while it lives. A signal's handler may start a walk inside a walk:
// that one gets a room of its own.
class RoomHeld {
 public:
  RoomHeld() : room_(kept().taken ? own_ : kept()) { room_.taken = true; }
  ~RoomHeld() {
    if (room_.bytes() > kKept) room_ = PairRoom();
    room_.taken = false;
  }
  RoomHeld(const RoomHeld&) = delete;
  RoomHeld& operator=(const RoomHeld&) = delete;
  PairRoom& operator*() { return room_; }

 private:
  static constexpr std::size_t kKept = std::size_t{1} << 25;
  static PairRoom& kept() {
    static thread_local PairRoom room;
    return room;
  }
  PairRoom own_;
  PairRoom& room_;
};

// Visits every node of the key splits of every segment. `Visit` has
//   open(begin, n)        before a segment,
//   first()               at every node of many items, which are in order of score,
//   next(p, item, lower)  for each of them, in the lower or in the upper half of the keys,
//   last(n)               after them,
//   upper(item), lower(item)  for the items of either half, their ends those of the node,
//   pair(upper, lower, z, is_far)  for every violated pair that parts at a small node,
//   close()               after a segment,
//   work                  of all that for every item of a node.
template <typename I, typename Visit>
class PairWalk {
 public:
  PairWalk(const PairPlan<I>& plan, const double* weight, double width, Visit& visit,
           PairRoom& room)
      : plan_(plan), weight_(weight), width_(width), visit_(visit), sort_(room.sort),
        items_(room.items), spare_(room.spare), count_(room.count), score_(room.score) {}

  void run(const double* f) {
    for (std::size_t s = 0; s < plan_.n_segments; ++s) {
      const std::size_t begin = plan_.start[s], n = plan_.start[s + 1] - begin;
      if (items_.size() < n) {
        items_.resize(n);
        spare_.resize(n);
        count_.resize(n + 1);
      }
      const auto* const row = plan_.row + begin;
      const std::uint8_t* const role = plan_.role + begin;
      const auto* const sorted = sort_.run(n, [=](std::size_t p) { return f[row[p]]; }, watch_);
      score_.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t p = sorted[i].index;
        const auto r = static_cast<std::size_t>(row[p]);
        score_[i] = f[r];
        items_[i] = {f[r], role[p] & kUpper ? weight_[r] : 0.0, role[p] & kLower ? weight_[r] : 0.0,
                     p, 0, 0, 0, 0};
      }
      if (n > kMany) sort_.release();
      find_ends(n);
      watch_.count(32 * n);
      visit_.open(begin, n);
      key_ = plan_.key + begin;
      node(items_.data(), spare_.data(), 0, n);
      visit_.close();
    }
  }

 private:
  // One predicate for both directions: a rounded difference is monotone in either
  // argument, so that both see the same pairs.
  void find_ends(std::size_t n) {
    const double* const f = score_.data();
    std::uint32_t violated = 0, far = 0, violates = 0, violates_far = 0;
    for (std::size_t p = 0; p < n; ++p) {
      while (violated < n && !(violation(f[p], f[violated]) > 0.0)) ++violated;
      while (far < n && !(violation(f[p], f[far]) > width_)) ++far;
      while (violates < n && violation(f[violates], f[p]) > 0.0) ++violates;
      while (violates_far < n && violation(f[violates_far], f[p]) > width_) ++violates_far;
      PairItem& item = items_[p];
      item.violated = violated;
      item.far = far;
      item.violates = violates;
      item.violates_far = violates_far;
    }
  }

  void few(const PairItem* items, std::size_t n) {
    for (const PairItem* upper = items; upper != items + n; ++upper) {
      for (const PairItem* lower = items + upper->violated; lower < items + n; ++lower) {
        if (key_[lower->at] < key_[upper->at] && upper->as_upper * lower->as_lower != 0.0) {
          visit_.pair(*upper, *lower, violation(upper->f, lower->f), lower >= items + upper->far);
        }
      }
    }
  }

  void node(PairItem* items, PairItem* spare, std::size_t low, std::size_t high) {
    if (high - low <= kFew) return few(items, high - low);
    const std::size_t cut = split(low, high), n = high - low, n_lower = cut - low;
    if (cut == low) return;
    PairItem *lower = spare, *upper = spare + n_lower;
    std::uint32_t count = 0;
    visit_.first();
    for (std::size_t p = 0; p < n; ++p) {
      const PairItem& item = items[p];
      const bool is_lower = item.at < cut;
      count_[p] = count;
      visit_.next(p, item, is_lower);
      *(is_lower ? lower : upper) = item;
      lower += is_lower;
      upper += !is_lower;
      count += is_lower;
    }
    count_[n] = count;
    visit_.last(n);
    watch_.count((8 + visit_.work) * n);
    // Items of one key make no pairs: they are not looked at again.
    const bool lower_parts = key_[low] != key_[cut - 1], upper_parts = key_[cut] != key_[high - 1];
    for (PairItem* item = spare + n_lower; item != spare + n; ++item) {
      visit_.upper(*item);
      if (!upper_parts) continue;
      for (auto end : kEnds) item->*end -= count_[item->*end];
    }
    for (PairItem* item = spare; item != spare + n_lower; ++item) {
      visit_.lower(*item);
      if (!lower_parts) continue;
      for (auto end : kEnds) item->*end = count_[item->*end];
    }
    if (lower_parts) node(spare, items, low, cut);
    if (upper_parts) node(spare + n_lower, items + n_lower, cut, high);
  }

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

  static constexpr std::size_t kFew = 12, kMany = std::size_t{1} << 20;
  static constexpr std::uint32_t PairItem::*kEnds[] = {
      &PairItem::violated, &PairItem::far, &PairItem::violates, &PairItem::violates_far};

  const PairPlan<I>& plan_;
  const double* weight_;
  double width_;
  Visit& visit_;
  const I* key_ = nullptr;
  Watch watch_;
  ScoreSort& sort_;
  std::vector<PairItem>&items_, &spare_;
  std::vector<std::uint32_t>& count_;
  std::vector<double>& score_;
};

struct PairTotals {
  double violated;  // weight of the pairs with z > 0
  double clipped;   // their sum of min(z, width)
};

// For every row, signed sums over the violated pairs it is part of (plus as the
// upper row, minus as the lower): `vertex` of the weight, `clipped` of
// weight x min(z, width), `curved` of weight x z over the pairs with 0 < z <= width.
// `degree`: weight of its partners of such pairs.
template <typename I>
class ViolationSums {
 public:
  ViolationSums(const PairPlan<I>& plan, const double* weight, double width, double* vertex,
                double* clipped, double* curved, double* degree, PairRoom& room)
      : plan_(plan), weight_(weight), width_(std::isinf(width) ? 0.0 : width), vertex_(vertex),
        clipped_(clipped), curved_(curved), degree_(degree), sums_(room.sums),
        lower_(room.lower), upper_(room.upper) {}

  PairTotals totals{0.0, 0.0};
  static constexpr std::size_t work = 16;  // a split, for every item

  void open(std::size_t begin, std::size_t n) {
    begin_ = begin;
    sums_.assign(n, PairRowSums{});
    if (lower_.size() < n + 1) {
      lower_.resize(n + 1);
      upper_.resize(n + 1);
    }
  }

  void first() { sum_lower_ = sum_upper_ = {}; }

  void next(std::size_t p, const PairItem& item, bool is_lower) {
    last(p);
    const double low = is_lower ? item.as_lower : 0.0, up = is_lower ? 0.0 : item.as_upper;
    sum_lower_.weight += low;
    sum_lower_.score += low * item.f;
    sum_upper_.weight += up;
    sum_upper_.score += up * item.f;
  }

  void last(std::size_t n) {
    lower_[n] = sum_lower_;
    upper_[n] = sum_upper_;
  }

  void upper(const PairItem& i) {
    if (i.as_upper == 0.0) return;
    const PairWeights &from = lower_[i.violated], &to = lower_[i.far];
    const double near = to.weight - from.weight, violated = sum_lower_.weight - from.weight;
    const double curved = (1.0 - i.f) * near + (to.score - from.score);
    const double clipped = curved + width_ * (sum_lower_.weight - to.weight);
    sums_[i.at].add(violated, clipped, curved, near);
    totals.violated += i.as_upper * violated;
    totals.clipped += i.as_upper * clipped;
  }

  void lower(const PairItem& j) {
    if (j.as_lower == 0.0) return;
    const PairWeights &from = upper_[j.violates_far], &to = upper_[j.violates];
    const double near = to.weight - from.weight;
    const double curved = (1.0 + j.f) * near - (to.score - from.score);
    sums_[j.at].add(-to.weight, -curved - width_ * from.weight, -curved, near);
  }

  void pair(const PairItem& upper, const PairItem& lower, double z, bool is_far) {
    const double clipped = is_far ? width_ : z, near = is_far ? 0.0 : 1.0, curved = near * z;
    const double up = upper.as_upper, low = lower.as_lower;
    sums_[upper.at].add(low, low * clipped, low * curved, low * near);
    sums_[lower.at].add(-up, -up * clipped, -up * curved, up * near);
    const double weight = upper.as_upper * lower.as_lower;
    totals.violated += weight;
    totals.clipped += weight * clipped;
  }

  void close() {
    for (std::size_t p = 0; p < sums_.size(); ++p) {
      const std::size_t row = plan_.row[begin_ + p];
      vertex_[row] += weight_[row] * sums_[p].vertex;
      clipped_[row] += weight_[row] * sums_[p].clipped;
      curved_[row] += weight_[row] * sums_[p].curved;
      degree_[row] += sums_[p].degree;
    }
  }

 private:
  const PairPlan<I>& plan_;
  const double* weight_;
  double width_;
  double *vertex_, *clipped_, *curved_, *degree_;
  std::size_t begin_ = 0;
  PairWeights sum_lower_, sum_upper_;
  std::vector<PairRowSums>& sums_;
  std::vector<PairWeights>&lower_, &upper_;  // sums over either half, before each item
};

// out_i += sum of weight_j values_j over the partners j of row i with 0 < z <= width;
// `values` and `out` have `n_columns` columns.
template <typename I>
class PartnerSums {
 public:
  PartnerSums(const PairPlan<I>& plan, const double* values, double* out, std::size_t n_columns,
              PairRoom& room)
      : work(16 + 4 * n_columns), plan_(plan), values_(values), out_(out), columns_(n_columns),
        sums_(room.columns), lower_before_(room.lower_before) {}

  const std::size_t work;  // a split, for every item

  void open(std::size_t begin, std::size_t n) {
    row_ = plan_.row + begin;
    n_ = n;
    if (sums_.size() < (n + 2) * columns_) sums_.resize((n + 2) * columns_);
    if (lower_before_.size() < n + 1) lower_before_.resize(n + 1);
  }

  void first() {
    std::fill_n(lower_sums(0), columns_, 0.0);
    std::fill_n(upper_sums(0), columns_, 0.0);
    lower_before_[0] = 0;
  }

  void next(std::size_t p, const PairItem& item, bool is_lower) {
    const std::size_t lowers = lower_before_[p], uppers = p - lowers;
    lower_before_[p + 1] = static_cast<std::uint32_t>(lowers + is_lower);
    const double weight = is_lower ? item.as_lower : item.as_upper;
    const double* const value = values_ + static_cast<std::size_t>(row_[item.at]) * columns_;
    const double* const sum = is_lower ? lower_sums(lowers) : upper_sums(uppers);
    double* const after = is_lower ? lower_sums(lowers + 1) : upper_sums(uppers + 1);
    for (std::size_t c = 0; c < columns_; ++c) after[c] = sum[c] + weight * value[c];
  }

  void last(std::size_t) {}

  void upper(const PairItem& i) {
    if (i.as_upper == 0.0) return;
    add(row_[i.at], lower_sums(lower_before_[i.violated]), lower_sums(lower_before_[i.far]));
  }

  void lower(const PairItem& j) {
    if (j.as_lower == 0.0) return;
    const std::size_t from = j.violates_far, to = j.violates;
    add(row_[j.at], upper_sums(from - lower_before_[from]), upper_sums(to - lower_before_[to]));
  }

  void pair(const PairItem& upper, const PairItem& lower, double z, bool is_far) {
    if (is_far) return;
    add_one(row_[upper.at], lower.as_lower, row_[lower.at]);
    add_one(row_[lower.at], upper.as_upper, row_[upper.at]);
  }

  void close() {}

 private:
  // Sums over the first items of either half: those of the lower one from the front of the
  // room, those of the upper one from its end.
  double* lower_sums(std::size_t items) { return sums_.data() + items * columns_; }
  double* upper_sums(std::size_t items) { return sums_.data() + (n_ + 1 - items) * columns_; }

  void add_one(std::size_t row, double weight, std::size_t partner) {
    for (std::size_t c = 0; c < columns_; ++c) {
      out_[row * columns_ + c] += weight * values_[partner * columns_ + c];
    }
  }

  void add(std::size_t row, const double* first, const double* last) {
    double* out = out_ + row * columns_;
    for (std::size_t c = 0; c < columns_; ++c) out[c] += last[c] - first[c];
  }

  const PairPlan<I>& plan_;
  const double* values_;
  double* out_;
  std::size_t columns_;
  const I* row_ = nullptr;
  std::size_t n_ = 0;
  std::vector<double>& sums_;
  std::vector<std::uint32_t>& lower_before_;  // items of the lower half before each of all
};

}  // namespace shortlist
