// Products with rows whose values may be float32, sparse or dense: sums are always
// kept in double, so that a certificate is as honest as the data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.hpp"
#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

template <typename V, typename I>
struct CsrView {
  using Column = std::make_unsigned_t<I>;

  const I* start;    // n_rows + 1, checked
  const I* column;   // not yet
  const V* value;
  std::size_t n_rows, n_columns;

  std::size_t stored(std::size_t first, std::size_t last) const {
    return static_cast<std::size_t>(start[last] - start[first]);
  }

  void check(std::size_t first, std::size_t last) const {
    check_index("column", column, static_cast<std::size_t>(start[first]),
                static_cast<std::size_t>(start[last]), n_columns);
  }

  // The column of entry p, and in `highest` the largest so far. A column outside the matrix,
  // a negative one among them, is read as the first: the comparisons run while sums wait for
  // each other, whereas a pass of its own reads memory twice. Nothing of it where the columns
  // have been checked before.
  template <bool checked>
  std::size_t inside(I p, Column& highest) const {
    const auto c = static_cast<Column>(column[p]);
    if (checked) return c;
    highest = highest < c ? c : highest;
    return c < n_columns ? c : 0;
  }

  // run(first, last, highest) over parts of the rows; refuses a part that met a column
  // outside the matrix.
  template <typename Run>
  void parts(Run run) const {
    if (n_columns == 0) check(0, n_rows);  // no first column to read instead
    Watch watch;
    Column highest = 0;
    for (std::size_t first = 0, last = 0; first < n_rows; first = last) {
      last = first + std::min<std::size_t>(n_rows - first, 1024);
      run(first, last, highest);
      if (highest >= n_columns) check(first, last);
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
template <bool checked, typename V, typename I>
void csr_scores(const CsrView<V, I>& x, const double* w, double* out) {
  x.parts([&](std::size_t first, std::size_t last, auto& highest) {
    auto most = highest;
    for (std::size_t i = first; i < last; ++i) {
      double sum = 0.0;
      for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
        sum += static_cast<double>(x.value[p]) * w[x.template inside<checked>(p, most)];
      }
      out[i] = sum;
    }
    highest = most;
  });
}

// out += sum_i v_i x_i
template <bool checked, typename V, typename I>
void csr_combine(const CsrView<V, I>& x, const double* v, double* out) {
  x.parts([&](std::size_t first, std::size_t last, auto& highest) {
    auto most = highest;
    for (std::size_t i = first; i < last; ++i) {
      const double vi = v[i];
      if (vi == 0.0) continue;
      for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
        out[x.template inside<checked>(p, most)] += vi * static_cast<double>(x.value[p]);
      }
    }
    highest = most;
  });
}

// out (n_columns x n_sums) += X^T V^T for V (n_sums x n_rows): every entry is read once.
template <bool checked, std::size_t n_sums, typename V, typename I>
void csr_combines(const CsrView<V, I>& x, const double* v, double* out) {
  x.parts([&](std::size_t first, std::size_t last, auto& highest) {
    auto most = highest;
    for (std::size_t i = first; i < last; ++i) {
      double vi[n_sums];
      for (std::size_t r = 0; r < n_sums; ++r) vi[r] = v[r * x.n_rows + i];
      for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
        const double value = static_cast<double>(x.value[p]);
        double* to = out + n_sums * x.template inside<checked>(p, most);
        for (std::size_t r = 0; r < n_sums; ++r) to[r] += vi[r] * value;
      }
    }
    highest = most;
  });
}

template <bool checked, typename V, typename I>
void csr_combines(const CsrView<V, I>& x, const double* v, std::size_t n_sums, double* out) {
  switch (n_sums) {
    case 1: return csr_combines<checked, 1>(x, v, out);
    case 2: return csr_combines<checked, 2>(x, v, out);
    case 3: return csr_combines<checked, 3>(x, v, out);
    default: refuse("v must have one to three rows, got " + std::to_string(n_sums));
  }
}

// Upper triangle of out += sum_i v_i x_i x_i^T, columns sorted within a row; what is below it
// holds anything. Four entries of a row at a time: the others are read a quarter as often, and
// there are a quarter as many short loops, the ends of which the processor cannot foresee.
template <typename V, typename I>
void csr_gram(const CsrView<V, I>& x, const double* v, double* out) {
  Watch watch;
  x.parts([&](std::size_t first, std::size_t last, auto&) {
    x.check(first, last);
    for (std::size_t i = first; i < last; ++i) {
      const double vi = v[i];
      if (vi == 0.0) continue;
      const I end = x.start[i + 1];
      I p = x.start[i];
      for (; p + 4 <= end; p += 4) {
        double scaled[4];
        double* row[4];
        for (I r = 0; r < 4; ++r) {
          scaled[r] = vi * static_cast<double>(x.value[p + r]);
          row[r] = out + static_cast<std::size_t>(x.column[p + r]) * x.n_columns;
        }
        for (I q = p; q < end; ++q) {
          const double value = static_cast<double>(x.value[q]);
          const auto c = static_cast<std::size_t>(x.column[q]);
          for (I r = 0; r < 4; ++r) row[r][c] += scaled[r] * value;
        }
      }
      for (; p < end; ++p) {
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
template <typename T>
inline void fetch(const T* x, std::size_t count) {
#if defined(__GNUC__)
  constexpr std::size_t line = 64 / sizeof(T);
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

// Eight numbers that are added and multiplied side by side.
#if defined(__GNUC__)
typedef double Eight __attribute__((vector_size(64)));
#else
struct Eight {
  double x[8];
  friend Eight operator*(double a, Eight b) {
    for (double& x : b.x) x *= a;
    return b;
  }
  Eight& operator+=(const Eight& b) {
    for (int l = 0; l < 8; ++l) x[l] += b.x[l];
    return *this;
  }
};
#endif

// A tile of X^T diag(v) X, as large as registers hold, and rows that are copied for it:
// raw and weighted, padded to whole tiles, so that all sums run side by side.
constexpr std::size_t kTall = 4, kWide = 16, kPacked = 64;

inline std::size_t gram_width(std::size_t n_columns) {
  return (n_columns + kWide - 1) / kWide * kWide;
}

// Rows in memory: place (i, j) lies i * row + j * column from the first.
struct Places {
  std::size_t row, column;
};

template <typename T>
SHORTLIST_INLINE void some_gram(const T* x, Places at, std::size_t n_rows, std::size_t n_columns,
                                const double* v, double* __restrict raw,
                                double* __restrict weighted, double* __restrict out) {
  const std::size_t width = gram_width(n_columns);
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t j = 0; j < n_columns; ++j) {
      const double value = static_cast<double>(x[i * at.row + j * at.column]);
      raw[i * width + j] = value;
      weighted[i * width + j] = v[i] * value;
    }
  }
  for (std::size_t j = 0; j < n_columns; j += kTall) {
    for (std::size_t k = j - j % kWide; k < n_columns; k += kWide) {
      Eight first[kTall] = {}, second[kTall] = {};
      for (std::size_t i = 0; i < n_rows; ++i) {
        const double* left = weighted + i * width + j;
        Eight right[2];
        std::memcpy(right, raw + i * width + k, sizeof right);
        for (std::size_t r = 0; r < kTall; ++r) {
          first[r] += left[r] * right[0];
          second[r] += left[r] * right[1];
        }
      }
      // Out of the registers: what is addressed by a variable would not have been kept there.
      double sum[kTall][kWide];
      for (std::size_t r = 0; r < kTall; ++r) {
        std::memcpy(sum[r], &first[r], sizeof first[r]);
        std::memcpy(sum[r] + 8, &second[r], sizeof second[r]);
      }
      const std::size_t tall = std::min(kTall, n_columns - j), wide = std::min(kWide, n_columns - k);
      for (std::size_t r = 0; r < tall; ++r) {
        double* to = out + (j + r) * n_columns + k;
        for (std::size_t l = 0; l < wide; ++l) to[l] += sum[r][l];
      }
    }
  }
}

SHORTLIST_CLONES inline void packed_gram(const float* x, Places at, std::size_t n_rows,
                                         std::size_t n_columns, const double* v, double* raw,
                                         double* weighted, double* out) {
  some_gram(x, at, n_rows, n_columns, v, raw, weighted, out);
}

SHORTLIST_CLONES inline void packed_gram(const double* x, Places at, std::size_t n_rows,
                                         std::size_t n_columns, const double* v, double* raw,
                                         double* weighted, double* out) {
  some_gram(x, at, n_rows, n_columns, v, raw, weighted, out);
}

// Upper triangle of out += sum_i v_i x_i x_i^T for rows of few columns; what is below it holds
// anything. BLAS would copy the rows to weigh them, and is made for larger matrices.
template <typename T>
void dense_gram(const T* x, Places at, std::size_t n_rows, std::size_t n_columns, const double* v,
                double* out) {
  std::vector<double> raw(kPacked * gram_width(n_columns)), weighted(raw.size());
  const std::size_t n_packs = (n_rows + kPacked - 1) / kPacked;
  Watch().parts(n_packs, kPacked * n_columns * n_columns, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first * kPacked; i < std::min(n_rows, last * kPacked); i += kPacked) {
      packed_gram(x + i * at.row, at, std::min(kPacked, n_rows - i), n_columns, v + i, raw.data(),
                  weighted.data(), out);
    }
  });
}

// Lowest and highest value at each of `width` places, over groups of so many values; NaN in
// `bad` where one of them is not a finite number. Four groups at a time: what has been found
// is loaded and stored a quarter as often.
template <typename T>
inline void some_ranges(const T* __restrict x, std::size_t n_groups, std::size_t width,
                        T* __restrict low, T* __restrict high, T* __restrict bad) {
  constexpr std::size_t step = 4;
  const std::size_t end = n_groups * width;
  std::size_t i = 0;
  for (; i + step <= n_groups; i += step) {
    const T *a = x + i * width, *b = a + width, *c = b + width, *d = c + width;
    if ((i + step) * width + page <= end) fetch(a + page, step * width);
    for (std::size_t j = 0; j < width; ++j) {
      const T ab_low = b[j] < a[j] ? b[j] : a[j], ab_high = b[j] < a[j] ? a[j] : b[j];
      const T cd_low = d[j] < c[j] ? d[j] : c[j], cd_high = d[j] < c[j] ? c[j] : d[j];
      const T least = cd_low < ab_low ? cd_low : ab_low;
      const T most = cd_high > ab_high ? cd_high : ab_high;
      low[j] = least < low[j] ? least : low[j];
      high[j] = most > high[j] ? most : high[j];
      bad[j] += ((a[j] - a[j]) + (b[j] - b[j])) + ((c[j] - c[j]) + (d[j] - d[j]));
    }
  }
  for (; i < n_groups; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const T v = x[i * width + j];
      low[j] = v < low[j] ? v : low[j];
      high[j] = v > high[j] ? v : high[j];
      bad[j] += v - v;
    }
  }
}

SHORTLIST_CLONES inline void ranges(const float* x, std::size_t n_groups, std::size_t width,
                                    float* low, float* high, float* bad) {
  some_ranges(x, n_groups, width, low, high, bad);
}

SHORTLIST_CLONES inline void ranges(const double* x, std::size_t n_groups, std::size_t width,
                                    double* low, double* high, double* bad) {
  some_ranges(x, n_groups, width, low, high, bad);
}

// Range of every column, NaN at both ends where it holds anything but finite numbers. Short
// rows are looked at several side by side.
template <typename T>
void column_ranges(const T* x, std::size_t n_rows, std::size_t n_columns, double* lowest,
                   double* highest) {
  constexpr std::size_t long_enough = 64;
  if (n_columns == 0) return;
  const std::size_t fold = std::max<std::size_t>(1, long_enough / n_columns);
  const std::size_t width = fold * n_columns, n_groups = n_rows / fold;
  std::vector<T> low(width, std::numeric_limits<T>::infinity());
  std::vector<T> high(width, -std::numeric_limits<T>::infinity()), bad(width, T(0));
  Watch().parts(n_groups, width, [&](std::size_t first, std::size_t last) {
    ranges(x + first * width, last - first, width, low.data(), high.data(), bad.data());
  });
  ranges(x + n_groups * width, n_rows - n_groups * fold, n_columns, low.data(), high.data(),
         bad.data());
  for (std::size_t j = 0; j < n_columns; ++j) {
    for (std::size_t p = j + n_columns; p < width; p += n_columns) {
      low[j] = std::min(low[j], low[p]);
      high[j] = std::max(high[j], high[p]);
      bad[j] += bad[p];
    }
    lowest[j] = static_cast<double>(low[j]) + static_cast<double>(bad[j]);
    highest[j] = static_cast<double>(high[j]) + static_cast<double>(bad[j]);
  }
}

}  // namespace shortlist
