// Sorts scores. Radix sort on the bits: the order of doubles is that of their bits once
// negative numbers are inverted and the others get the sign bit. That order has a place for
// NaN, too, which a comparison has not. Few scores share their high bits: by these they are
// dealt out, and runs of equal ones sorted by comparison. Where a run is long, as of scores
// that all but agree, the low bits are dealt out as well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "interrupt.hpp"

namespace shortlist {

class ScoreSort {
 public:
  struct Entry {
    std::uint64_t key;
    std::uint32_t index;
  };

  // The n scores in order, equal ones by their index; valid until the next call.
  template <typename Score>
  const Entry* run(std::size_t n, Score score, Watch& watch) {
    from_.resize(n);
    for (std::size_t i = 0; i < n; ++i) from_[i] = {bits(score(i)), static_cast<std::uint32_t>(i)};
    if (n < kFew) {
      std::sort(from_.begin(), from_.end(), before);
      return from_.data();
    }
    to_.resize(n);
    for (int shift = kLow; shift < 64; shift += kDigit) pass(shift, watch);
    if (!sort_runs()) {
      for (int shift = 0; shift < 64; shift += kDigit) pass(shift, watch);
    }
    return from_.data();
  }

  std::size_t bytes() const { return (from_.capacity() + to_.capacity()) * sizeof(Entry); }

  // The visits that follow need the room.
  void release() {
    std::vector<Entry>().swap(from_);
    std::vector<Entry>().swap(to_);
  }

 private:
  static constexpr std::size_t kFew = 512, kLongRun = 4096;
  static constexpr int kDigit = 11, kLow = 31;

  static bool before(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.index < b.index);
  }

  static std::uint64_t bits(double value) {
    value += 0.0;  // minus zero equals zero
    std::uint64_t raw;
    std::memcpy(&raw, &value, sizeof raw);
    return raw ^ ((raw >> 63) ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
  }

  void pass(int shift, Watch& watch) {
    constexpr std::uint64_t mask = (1u << kDigit) - 1;
    std::size_t count[(1u << kDigit) + 1] = {};
    for (const Entry& e : from_) ++count[((e.key >> shift) & mask) + 1];
    if (*std::max_element(count, count + mask + 2) == from_.size()) return;
    for (std::size_t d = 0; d < mask; ++d) count[d + 1] += count[d];
    const Entry* const from = from_.data();
    Entry* const to = to_.data();
    watch.parts(from_.size(), 4, [=, &count](std::size_t first, std::size_t last) {
      for (const Entry* e = from + first; e != from + last; ++e) {
        to[count[(e->key >> shift) & mask]++] = *e;
      }
    });
    from_.swap(to_);
  }

  // Sorts the runs of equal high bits; false where one is too long.
  bool sort_runs() {
    const std::size_t n = from_.size();
    for (std::size_t first = 0, last = 0; first < n; first = last) {
      bool sorted = true;
      for (last = first + 1; last < n; ++last) {
        if ((from_[last].key ^ from_[first].key) >> kLow) break;
        sorted &= from_[last - 1].key <= from_[last].key;
      }
      if (sorted) continue;
      if (last - first > kLongRun) return false;
      std::sort(from_.begin() + first, from_.begin() + last, before);
    }
    return true;
  }

  std::vector<Entry> from_, to_;
};

}  // namespace shortlist
