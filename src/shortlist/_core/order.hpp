// Positions of scores by falling score, of equal ones the first first.
//
// A radix sort of the upper halves, byte by byte from the lowest: stable, and without the
// branches that a sort by comparison guesses wrong. Runs whose upper halves agree, to some six
// digits, are few or short, and sorted by comparison. Of few out of many, a sample of the scores
// says where these may begin, and only what lies above is sorted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "interrupt.hpp"

namespace shortlist {

class Falling {
 public:
  // Writes the positions of the `count` highest scores, none of which is NaN.
  void highest(const double* scores, std::size_t n, std::size_t count, std::int64_t* out) {
    entries_.clear();
    if (kSample * 2 < n && count * 4 < n) above_sampled(scores, n, count);
    if (entries_.size() < count) {
      entries_.clear();
      for (std::size_t i = 0; i < n; ++i) entries_.push_back({key(scores[i]), i});
    }
    sort();
    watch_.count(16 * entries_.size() + n);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::int64_t>(entries_[i].position);
    }
  }

 private:
  static constexpr std::size_t kSample = 512;

  struct Entry {
    std::uint64_t key;
    std::size_t position;
  };

  // An integer that falls where the score rises; both zeros are one.
  static std::uint64_t key(double score) {
    score += 0.0;
    std::uint64_t bits;
    std::memcpy(&bits, &score, sizeof bits);
    const std::uint64_t top = std::uint64_t{1} << 63;
    return bits & top ? bits : ~(bits | top);
  }

  // Scores that a sample puts among the highest: twice as many as are wanted, and some more.
  void above_sampled(const double* scores, std::size_t n, std::size_t count) {
    std::array<double, kSample> sample;
    const std::size_t stride = n / kSample;
    for (std::size_t i = 0; i < kSample; ++i) sample[i] = scores[i * stride];
    const std::size_t place = std::min(kSample - 1, 2 * count * kSample / n + 8);
    std::nth_element(sample.begin(), sample.begin() + place, sample.end(), std::greater<double>());
    const double cut = sample[place];
    for (std::size_t i = 0; i < n; ++i) {
      if (scores[i] >= cut) entries_.push_back({key(scores[i]), i});
    }
  }

  void sort() {
    const std::size_t n = entries_.size();
    std::array<std::array<std::size_t, 256>, 4> starts{};
    for (const Entry& entry : entries_) {
      for (int byte = 0; byte < 4; ++byte) ++starts[byte][digit(entry, byte)];
    }
    other_.resize(n);
    for (int byte = 0; byte < 4; ++byte) {
      auto& start = starts[byte];
      std::size_t sum = 0;
      bool alike = false;
      for (std::size_t& value : start) {
        alike |= value == n;
        const std::size_t size = value;
        value = sum;
        sum += size;
      }
      if (alike) continue;
      for (const Entry& entry : entries_) {
        other_[start[digit(entry, byte)]++] = entry;
      }
      entries_.swap(other_);
    }
    const auto less = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    for (std::size_t first = 0, last; first < n; first = last) {
      for (last = first + 1; last < n && upper(entries_[last]) == upper(entries_[first]);) ++last;
      const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(last);
      if (!std::is_sorted(begin, end, less)) std::stable_sort(begin, end, less);
    }
  }

  static std::uint64_t upper(const Entry& entry) { return entry.key >> 32; }
  static std::size_t digit(const Entry& entry, int byte) {
    return entry.key >> (32 + 8 * byte) & 255;
  }

  std::vector<Entry> entries_, other_;
  Watch watch_;
};

}  // namespace shortlist
