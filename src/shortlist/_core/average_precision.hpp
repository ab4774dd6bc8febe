// The ranking that violates the margin of average precision most.
//
// With m positives and n negatives, both by falling score, and a_j positives above negative j,
//
//   1 - AP + (1/mn) sum_j sum_{i > a_j} (s_j - s_i)  =  sum_j V_j(a_j),
//   V_j(a) = 1/m [ H(m+j) - H(a+j) - (j-1)(m-a) / ((a+j)(m+j)) ]
//            + 1/mn [ (m-a) s_j - (s_{a+1} + ... + s_m) ],
//
// H the harmonic numbers: every negative chooses its place by itself (Yue et al., SIGIR 2007).
// What negative j gains by rising from a to a' < a falls with j, so the best places never
// fall: the place of the middle negative bounds those of all others, and O((m + n) log n)
// values suffice. Places that rounding confuses are level up to rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interrupt.hpp"

namespace shortlist {

class RankedPlaces {
 public:
  // Scores of the positives and of the negatives, both falling.
  RankedPlaces(const double* positive, std::size_t m, const double* negative, std::size_t n)
      : negative_(negative), m_(m), n_(n), harmonic_(m + n + 1), below_(m + 1) {
    long double sum = 0.0L;
    for (std::size_t i = 1; i <= m + n; ++i) {
      sum += 1.0L / static_cast<long double>(i);
      harmonic_[i] = static_cast<double>(sum);
    }
    for (std::size_t a = m; a-- > 0;) below_[a] = below_[a + 1] + positive[a];
  }

  // Positives above every negative.
  void run(std::int64_t* place) { solve(0, n_, 0, m_, place); }

 private:
  double value(std::size_t j, std::size_t a) const {
    const double m = static_cast<double>(m_), rank = static_cast<double>(j + 1);
    const double passed = static_cast<double>(m_ - a), above = static_cast<double>(a);
    const double lost = harmonic_[m_ + j + 1] - harmonic_[a + j + 1] -
                        (rank - 1.0) * passed / ((above + rank) * (m + rank));
    return lost + (passed * negative_[j] - below_[a]) / static_cast<double>(n_);
  }

  void solve(std::size_t first, std::size_t last, std::size_t low, std::size_t high,
             std::int64_t* place) {
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      std::size_t best = low;
      double most = value(middle, low);
      for (std::size_t a = low + 1; a <= high; ++a) {
        const double here = value(middle, a);
        if (here >= most) {
          most = here;
          best = a;
        }
      }
      watch_.count(8 * (high - low + 1));
      place[middle] = static_cast<std::int64_t>(best);
      solve(first, middle, low, best, place);
      first = middle + 1;
      low = best;
    }
  }

  const double* negative_;
  std::size_t m_, n_;
  std::vector<double> harmonic_, below_;
  Watch watch_;
};

}  // namespace shortlist
