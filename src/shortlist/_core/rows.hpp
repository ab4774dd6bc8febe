// Products with rows whose values may be float32, sparse or dense: sums are always
// kept in double, so that a certificate is as honest as the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "arrays.hpp"
#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

template <typename V, typename I>
struct CsrView {
  const I* start;    // n_rows + 1, checked
  const I* column;   // not yet: `check` does so, for the rows that are about to be read
  const V* value;
  std::size_t n_rows, n_columns;

  std::size_t stored(std::size_t first, std::size_t last) const {
    return static_cast<std::size_t>(start[last] - start[first]);
  }

  void check(std::size_t first, std::size_t last) const {
    check_index("column", column + start[first], stored(first, last), n_columns);
  }

  // run(first, last) over parts of the rows that stay in the cache, checked just before.
  template <typename Run>
  void parts(Run run) const {
    constexpr std::size_t kValues = 4096;
    Watch watch;
    for (std::size_t first = 0, last = 0; first < n_rows; first = last) {
      do ++last;
      while (last < n_rows && last - first < kValues && stored(first, last) < kValues);
      check(first, last);
      run(first, last);
      watch.count(stored(first, last) + (last - first));
    }
  }
};

// Sizes and row starts are checked here, columns where they are read.
template <typename V, typename I>
CsrView<V, I> csr(const In<I>& start, const In<I>& column, const In<V>& value,
                  std::size_t n_columns) {
  check_size("value", value, column.shape(0));
  check_starts("start", start, column.shape(0));
  return {start.data(), column.data(), value.data(), start.shape(0) - 1, n_columns};
}

template <typename V, typename I>
double csr_score(const CsrView<V, I>& x, std::size_t i, const double* w) {
  double sum = 0.0;
  for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
    sum += static_cast<double>(x.value[p]) * w[x.column[p]];
  }
  return sum;
}

// out_i = x_i . w
template <typename V, typename I>
void csr_scores(const CsrView<V, I>& x, const double* w, double* out) {
  x.parts([&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) out[i] = csr_score(x, i, w);
  });
}

// out += sum_i v_i x_i
template <typename V, typename I>
void csr_combine(const CsrView<V, I>& x, const double* v, double* out) {
  x.parts([&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const double vi = v[i];
      if (vi == 0.0) continue;
      for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
        out[x.column[p]] += vi * static_cast<double>(x.value[p]);
      }
    }
  });
}

// Upper triangle of out += sum_i v_i x_i x_i^T, columns sorted within a row.
template <typename V, typename I>
void csr_gram(const CsrView<V, I>& x, const double* v, double* out) {
  Watch watch;
  x.parts([&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const double vi = v[i];
      if (vi == 0.0) continue;
      const I end = x.start[i + 1];
      for (I p = x.start[i]; p < end; ++p) {
        const double scaled = vi * static_cast<double>(x.value[p]);
        double* row = out + static_cast<std::size_t>(x.column[p]) * x.n_columns;
        for (I q = p; q < end; ++q) row[x.column[q]] += scaled * static_cast<double>(x.value[q]);
      }
      const std::size_t stored = x.stored(i, i + 1);
      watch.count(stored * stored / 2);
    }
  });
}

// out_i = x_i . w for n_rows dense float32 rows, converted as they are read. Four sums a row,
// because the compiler may not reorder one; two rows at once, so that sums need not wait.
template <std::size_t n_rows>
inline void few_scores(const float* x, std::size_t n_columns, const double* w, double* out) {
  constexpr std::size_t width = 4;
  const std::size_t whole = n_columns - n_columns % width;
  double sum[n_rows][width] = {};
  for (std::size_t j = 0; j < whole; j += width) {
    for (std::size_t r = 0; r < n_rows; ++r) {
      for (std::size_t l = 0; l < width; ++l) {
        sum[r][l] += static_cast<double>(x[r * n_columns + j + l]) * w[j + l];
      }
    }
  }
  for (std::size_t r = 0; r < n_rows; ++r) {
    double total = (sum[r][0] + sum[r][2]) + (sum[r][1] + sum[r][3]);
    for (std::size_t j = whole; j < n_columns; ++j) {
      total += static_cast<double>(x[r * n_columns + j]) * w[j];
    }
    out[r] = total;
  }
}

constexpr std::size_t page = 1024;

// Ask for values that are read a page later. The processor does so by itself, not far enough.
inline void fetch(const float* x, std::size_t count) {
#if defined(__GNUC__)
  constexpr std::size_t line = 16;
  for (std::size_t j = 0; j < count; j += line) __builtin_prefetch(x + j, 0, 0);
#endif
}

SHORTLIST_CLONES inline void dense_scores(const float* x, std::size_t n_rows,
                                          std::size_t n_columns, const double* w, double* out) {
  constexpr std::size_t step = 2;
  const std::size_t chunk = step * n_columns, end = n_rows * n_columns;
  std::size_t i = 0;
  for (; i + step <= n_rows; i += step) {
    const std::size_t first = i * n_columns;
    if (first + page + chunk <= end) fetch(x + first + page, chunk);
    few_scores<step>(x + first, n_columns, w, out + i);
  }
  for (; i < n_rows; ++i) few_scores<1>(x + i * n_columns, n_columns, w, out + i);
}

constexpr std::size_t kCombined = 1024;  // rows whose sum is formed before it is added

// out += sum_i v_i x_i for dense float32 rows. Four rows at a time, so that the sums are
// loaded and stored a quarter as often; `part` (n_columns) adds up some rows before the rest,
// so that rounding does not grow with their number.
SHORTLIST_CLONES inline void dense_combine(const float* x, std::size_t n_rows,
                                           std::size_t n_columns, const double* v, double* part,
                                           double* out) {
  constexpr std::size_t step = 4;
  for (std::size_t start = 0; start < n_rows; start += kCombined) {
    const std::size_t end = std::min(n_rows, start + kCombined);
    std::fill(part, part + n_columns, 0.0);
    std::size_t i = start;
    for (; i + step <= end; i += step) {
      const double a = v[i], b = v[i + 1], c = v[i + 2], d = v[i + 3];
      if (a == 0.0 && b == 0.0 && c == 0.0 && d == 0.0) continue;
      const float* r = x + i * n_columns;
      for (std::size_t j = 0; j < n_columns; ++j) {
        part[j] += (a * static_cast<double>(r[j]) + b * static_cast<double>(r[n_columns + j])) +
                   (c * static_cast<double>(r[2 * n_columns + j]) +
                    d * static_cast<double>(r[3 * n_columns + j]));
      }
    }
    for (; i < end; ++i) {
      for (std::size_t j = 0; j < n_columns; ++j) {
        part[j] += v[i] * static_cast<double>(x[i * n_columns + j]);
      }
    }
    for (std::size_t j = 0; j < n_columns; ++j) out[j] += part[j];
  }
}

}  // namespace shortlist
