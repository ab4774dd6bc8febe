// Sums over the cells of a grid: what a threshold needs of the scores far above it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shortlist {

// Adds to out (4 x n_cells: number, weight, first and second moment about the lower edge)
// the rows in every cell (edges[j], edges[j + 1]]. The edges are about evenly spaced, so a
// cell is guessed by division and corrected by comparison.
inline void cell_moments(const double* scores, const double* weight, std::size_t n_rows,
                         const double* edges, std::size_t n_cells, double* out) {
  const double low = edges[0], high = edges[n_cells];
  const double per_cell = static_cast<double>(n_cells) / (high - low);
  double* const count = out;
  double* const mass = out + n_cells;
  double* const first = out + 2 * n_cells;
  double* const second = out + 3 * n_cells;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double s = scores[i];
    if (!(s > low && s <= high)) continue;
    const double guess = (s - low) * per_cell;  // not a number where the edges lie too far apart
    std::size_t j = guess < static_cast<double>(n_cells) ? static_cast<std::size_t>(guess)
                                                         : n_cells - 1;
    while (s > edges[j + 1]) ++j;
    while (s <= edges[j]) --j;
    const double w = weight ? weight[i] : 1.0, d = s - edges[j];
    count[j] += 1.0;
    mass[j] += w;
    first[j] += w * d;
    second[j] += w * d * d;
  }
}

// Moves the values that are not skipped to the front, in place; skipped is sorted.
inline void drop(double* values, std::size_t n, const std::int64_t* skipped,
                 std::size_t n_skipped) {
  for (std::size_t k = 0; k < n_skipped; ++k) {
    const std::size_t from = static_cast<std::size_t>(skipped[k]) + 1;
    const std::size_t to = k + 1 < n_skipped ? static_cast<std::size_t>(skipped[k + 1]) : n;
    std::copy(values + from, values + to, values + from - k - 1);
  }
}

}  // namespace shortlist
