// Rows of a kernel matrix: sums of them, and parts copied from one matrix to another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

// out += c row
template <typename T>
SHORTLIST_INLINE void add_row_loop(const T* row, double c, std::size_t n, double* out) {
  for (std::size_t j = 0; j < n; ++j) out[j] += c * static_cast<double>(row[j]);
}
SHORTLIST_CLONES inline void add_row(const float* row, double c, std::size_t n, double* out) {
  add_row_loop(row, c, n, out);
}
SHORTLIST_CLONES inline void add_row(const double* row, double c, std::size_t n, double* out) {
  add_row_loop(row, c, n, out);
}

// f += d (up - low)
template <typename T>
SHORTLIST_INLINE void add_difference_loop(const T* up, const T* low, double d, std::size_t n,
                                          double* f) {
  for (std::size_t r = 0; r < n; ++r)
    f[r] += d * (static_cast<double>(up[r]) - static_cast<double>(low[r]));
}
SHORTLIST_CLONES inline void add_difference(const float* up, const float* low, double d,
                                            std::size_t n, double* f) {
  add_difference_loop(up, low, d, n, f);
}
SHORTLIST_CLONES inline void add_difference(const double* up, const double* low, double d,
                                            std::size_t n, double* f) {
  add_difference_loop(up, low, d, n, f);
}

// out += sum of the chosen rows times their coefficients, in double; blocked so that
// the output stays in the first-level cache.
template <typename T>
void add_rows(const T* rows, std::size_t stride, const std::int64_t* slots,
              const double* coefficients, std::size_t count, double* out, std::size_t length) {
  constexpr std::size_t kBlock = 2048;
  Watch watch;
  for (std::size_t start = 0; start < length; start += kBlock) {
    const std::size_t end = std::min(length, start + kBlock);
    for (std::size_t k = 0; k < count; ++k) {
      const T* row = rows + static_cast<std::size_t>(slots[k]) * stride;
      const double c = coefficients[k];
      add_row(row + start, c, end - start, out + start);
      watch.count(end - start);
    }
  }
}

// Columns that follow each other on both sides.
struct Run {
  std::size_t from, to, length;
};

inline std::vector<Run> runs_of(const std::int64_t* columns, const std::int64_t* to_columns,
                                std::size_t n_columns) {
  std::vector<Run> runs;
  for (std::size_t j = 0; j < n_columns; ++j) {
    const auto from = static_cast<std::size_t>(columns[j]);
    const auto to = static_cast<std::size_t>(to_columns[j]);
    if (!runs.empty() && runs.back().from + runs.back().length == from &&
        runs.back().to + runs.back().length == to) {
      ++runs.back().length;
    } else {
      runs.push_back({from, to, 1});
    }
  }
  return runs;
}

// out[to_rows, to_columns] = source[rows, columns]; whole runs of columns where they are long.
template <typename T>
void gather(const T* source, std::size_t stride, const std::int64_t* rows, std::size_t n_rows,
            const std::int64_t* columns, std::size_t n_columns, T* out, std::size_t out_stride,
            const std::int64_t* to_rows, const std::int64_t* to_columns) {
  constexpr std::size_t kLong = 4;
  const std::vector<Run> runs = runs_of(columns, to_columns, n_columns);
  const bool whole = runs.size() * kLong <= n_columns;
  Watch watch;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const T* from = source + static_cast<std::size_t>(rows[i]) * stride;
    T* to = out + static_cast<std::size_t>(to_rows[i]) * out_stride;
    if (whole) {
      for (const Run& run : runs) std::copy_n(from + run.from, run.length, to + run.to);
    } else {
      for (std::size_t j = 0; j < n_columns; ++j) to[to_columns[j]] = from[columns[j]];
    }
    watch.count(n_columns);
  }
}

// out[rows, columns] = block and out[columns, rows] = block^T, in tiles that suit the cache.
template <typename T>
void mirror(const T* block, const std::int64_t* rows, std::size_t n_rows,
            const std::int64_t* columns, std::size_t n_columns, T* out, std::size_t stride) {
  constexpr std::size_t kTile = 32;
  Watch watch;
  for (std::size_t i = 0; i < n_rows; i += kTile) {
    const std::size_t stop = std::min(n_rows, i + kTile);
    for (std::size_t k = i; k < stop; ++k) {
      T* to = out + static_cast<std::size_t>(rows[k]) * stride;
      for (std::size_t j = 0; j < n_columns; ++j) to[columns[j]] = block[k * n_columns + j];
    }
    for (std::size_t j = 0; j < n_columns; ++j) {
      T* to = out + static_cast<std::size_t>(columns[j]) * stride;
      for (std::size_t k = i; k < stop; ++k) to[rows[k]] = block[k * n_columns + j];
    }
    watch.count(2 * kTile * n_columns);
  }
}

}  // namespace shortlist
