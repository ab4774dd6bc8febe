// The Gaussian kernel of rows on a grid: whole numbers from 0 to 255 times one step.
//
//   k(x, y) = exp(-gamma step^2 (|p|^2 + |q|^2 - 2 p.q)),   p, q the bytes of x and y
//
// Sums of products of bytes are exact in 32 bits, in whatever order and on whatever processor;
// where it multiplies bytes (AVX512-VNNI) 64 of them take one instruction. That instruction
// takes unsigned times signed bytes: q is held less 128, and 128 |p|_1 added again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "clones.hpp"
#include "gaussian.hpp"
#include "interrupt.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SHORTLIST_SANITIZED)
#define SHORTLIST_BYTE_PRODUCTS
#include <immintrin.h>
#endif

namespace shortlist {

constexpr std::size_t kGridRows = 12, kGridColumns = 32;
// Rows whose squared distances fit in 31 bits.
constexpr std::size_t kGridFeatures = 33000;

// Bytes per row: whole groups of four, the instruction's unit.
constexpr std::size_t grid_stride(std::size_t n_features) { return (n_features + 3) / 4 * 4; }

// products[r][j] = sum over bytes of rows[r] times those of column j of a panel
inline void plain_products(const std::uint8_t* const* rows, const std::uint8_t* panel,
                           std::size_t fours, std::int32_t* products) {
  std::fill_n(products, kGridRows * kGridColumns, 0);
  for (std::size_t f = 0; f < fours; ++f, panel += 4 * kGridColumns) {
    for (std::size_t r = 0; r < kGridRows; ++r) {
      for (std::size_t j = 0; j < 4 * kGridColumns; ++j) {
        products[r * kGridColumns + j / 4] +=
            rows[r][4 * f + j % 4] * static_cast<std::int8_t>(panel[j]);
      }
    }
  }
}

#ifdef SHORTLIST_BYTE_PRODUCTS
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) inline void vector_products(
    const std::uint8_t* const* rows, const std::uint8_t* panel, std::size_t fours,
    std::int32_t* products) {
  __m512i sums[kGridRows][2];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < kGridRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_si512();
  for (std::size_t f = 0; f < fours; ++f, panel += 4 * kGridColumns) {
    const __m512i left = _mm512_loadu_si512(panel), right = _mm512_loadu_si512(panel + 64);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kGridRows; ++r) {
      std::int32_t four;
      std::memcpy(&four, rows[r] + 4 * f, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
      sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], x, left);
      sums[r][1] = _mm512_dpbusd_epi32(sums[r][1], x, right);
    }
  }
#pragma GCC unroll 12
  for (std::size_t r = 0; r < kGridRows; ++r) {
    _mm512_storeu_si512(products + r * kGridColumns, sums[r][0]);
    _mm512_storeu_si512(products + r * kGridColumns + 16, sums[r][1]);
  }
}
#endif

// Whether this processor multiplies bytes: then a product takes a quarter of a float32 one.
inline bool multiplies_bytes() {
#ifdef SHORTLIST_BYTE_PRODUCTS
  static const bool known = __builtin_cpu_supports("avx512f") &&
                            __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512vnni");
  return known;
#else
  return false;
#endif
}

inline void grid_products(const std::uint8_t* const* rows, const std::uint8_t* panel,
                          std::size_t fours, std::int32_t* products) {
#ifdef SHORTLIST_BYTE_PRODUCTS
  if (multiplies_bytes()) return vector_products(rows, panel, fours, products);
#endif
  plain_products(rows, panel, fours, products);
}

// Entries of a tile, given the terms of its rows and the squares of its columns: exp(-scale (term
// + square - 2 product)); modulo 2^32 every part may overflow. All places are computed, those
// beyond the last row and column, too: loops of a known length are several times as fast.
template <typename T>
SHORTLIST_INLINE void grid_loop(const std::int32_t* products, const std::uint32_t* terms,
                                const std::uint32_t* squares, T scale, T* out) {
  for (std::size_t r = 0; r < kGridRows; ++r) {
    for (std::size_t j = 0; j < kGridColumns; ++j) {
      const std::size_t at = r * kGridColumns + j;
      const std::uint32_t square =
          terms[r] + squares[j] - 2 * static_cast<std::uint32_t>(products[at]);
      out[at] = exp_negative(-scale * static_cast<T>(static_cast<std::int32_t>(square)));
    }
  }
}
SHORTLIST_CLONES inline void grid_tile(const std::int32_t* products, const std::uint32_t* terms,
                                       const std::uint32_t* squares, float scale, float* out) {
  grid_loop(products, terms, squares, scale, out);
}
SHORTLIST_CLONES inline void grid_tile(const std::int32_t* products, const std::uint32_t* terms,
                                       const std::uint32_t* squares, double scale, double* out) {
  grid_loop(products, terms, squares, scale, out);
}

// sums[j] += c[r] times entry (r, j), row after row
template <typename T>
SHORTLIST_INLINE void grid_sums_loop(const T* entries, const double* c, std::size_t n_rows,
                                     double* sums) {
  double now[kGridColumns];
  std::copy_n(sums, kGridColumns, now);
  for (std::size_t r = 0; r < n_rows; ++r, entries += kGridColumns) {
    for (std::size_t j = 0; j < kGridColumns; ++j) now[j] += c[r] * static_cast<double>(entries[j]);
  }
  std::copy_n(now, kGridColumns, sums);
}
SHORTLIST_CLONES inline void add_tile(const float* entries, const double* c, std::size_t n_rows,
                                      double* sums) {
  grid_sums_loop(entries, c, n_rows, sums);
}
SHORTLIST_CLONES inline void add_tile(const double* entries, const double* c, std::size_t n_rows,
                                      double* sums) {
  grid_sums_loop(entries, c, n_rows, sums);
}

// |p|^2 and |p|_1 of a row
SHORTLIST_CLONES inline void grid_sums(const std::uint8_t* row, std::size_t n,
                                       std::uint32_t* square, std::uint32_t* sum) {
  std::uint32_t squares = 0, values = 0;
  for (std::size_t c = 0; c < n; ++c) {
    const std::uint32_t value = row[c];
    squares += value * value;
    values += value;
  }
  *square = squares;
  *sum = values;
}

// Rows as bytes, with their |p|^2 and |p|_1.
struct GridCodes {
  const std::uint8_t* bytes;
  std::size_t stride;
  const std::uint32_t *squares, *sums;

  const std::uint8_t* row(std::int64_t i) const {
    return bytes + static_cast<std::size_t>(i) * stride;
  }
};

// Some columns of a block, four bytes of one after four bytes of the other.
struct GridPanel {
  explicit GridPanel(std::size_t stride) : bytes(stride * kGridColumns) {}

  // Places beyond the last column get a row of zeros: their entries are computed, too.
  void fill(const GridCodes& codes, const std::int64_t* columns, std::size_t count) {
    size = count;
    for (std::size_t j = 0; j < kGridColumns; ++j) {
      const std::uint8_t* row = j < count ? codes.row(columns[j]) : nullptr;
      squares[j] = row ? codes.squares[columns[j]] : 0;
      for (std::size_t f = 0; f < codes.stride / 4; ++f) {
        std::uint32_t four = 0;
        if (row) std::memcpy(&four, row + 4 * f, sizeof four);
        four ^= 0x80808080u;  // less 128
        std::memcpy(bytes.data() + 4 * (f * kGridColumns + j), &four, sizeof four);
      }
    }
  }

  std::vector<std::uint8_t> bytes;
  std::uint32_t squares[kGridColumns] = {};
  std::size_t size = 0;
};

// Rows of a block, to be multiplied with the columns of panels.
struct GridBlock {
  const GridCodes& codes;
  const std::int64_t* rows;
  std::size_t n_rows;

  // |p|^2 - 256 |p|_1
  std::uint32_t term(std::size_t i) const {
    return codes.squares[rows[i]] - 256 * codes.sums[rows[i]];
  }

  // take(i, count, entries) for the rows up to `end`, in order, `count` of them from i on.
  template <typename T, typename Take>
  void with(const GridPanel& panel, std::size_t end, T scale, Watch& watch, Take take) const {
    std::int32_t products[kGridRows * kGridColumns];
    T entries[kGridRows * kGridColumns];
    for (std::size_t i = 0; i < end; i += kGridRows) {
      const std::size_t count = std::min(kGridRows, end - i);
      const std::uint8_t* some[kGridRows];
      std::uint32_t terms[kGridRows];
      for (std::size_t r = 0; r < kGridRows; ++r) {
        const std::size_t row = i + (r < count ? r : 0);
        some[r] = codes.row(rows[row]);
        terms[r] = term(row);
      }
      grid_products(some, panel.bytes.data(), codes.stride / 4, products);
      grid_tile(products, terms, panel.squares, scale, entries);
      take(i, count, entries);
      watch.count(count * panel.size * (codes.stride / 16 + 8));
    }
  }
};

// out[slots[i], to[j]] = k(rows[i], columns[j])
template <typename T>
void grid_entries(const GridBlock& block, const std::int64_t* columns, std::size_t n_columns,
                  T scale, T* out, std::size_t out_stride, const std::int64_t* slots,
                  const std::int64_t* to) {
  GridPanel panel(block.codes.stride);
  Watch watch;
  for (std::size_t j = 0; j < n_columns; j += kGridColumns) {
    panel.fill(block.codes, columns + j, std::min(kGridColumns, n_columns - j));
    bool together = true;
    for (std::size_t k = 1; k < panel.size; ++k) together &= to[j + k] == to[j + k - 1] + 1;
    block.with(panel, block.n_rows, scale, watch,
               [&](std::size_t i, std::size_t count, const T* entries) {
      for (std::size_t r = 0; r < count; ++r, entries += kGridColumns) {
        T* row = out + static_cast<std::size_t>(slots[i + r]) * out_stride;
        if (together) {
          std::copy_n(entries, panel.size, row + to[j]);
        } else {
          for (std::size_t k = 0; k < panel.size; ++k) row[to[j + k]] = entries[k];
        }
      }
    });
  }
}

// out[i, j] = out[j, i] = k(rows[i], rows[j]) for all i and the j from first to last, i <= j.
template <typename T>
void grid_square(const GridBlock& block, std::size_t first, std::size_t last, T scale, T* out,
                 std::size_t out_stride) {
  GridPanel panel(block.codes.stride);
  Watch watch;
  for (std::size_t j = first; j < last; j += kGridColumns) {
    panel.fill(block.codes, block.rows + j, std::min(kGridColumns, last - j));
    block.with(panel, j + panel.size, scale, watch,
               [&](std::size_t i, std::size_t count, const T* entries) {
      for (std::size_t r = 0; r < count; ++r) {
        std::copy_n(entries + r * kGridColumns, panel.size, out + (i + r) * out_stride + j);
      }
      for (std::size_t k = 0; k < panel.size; ++k) {
        T* turned = out + (j + k) * out_stride + i;
        for (std::size_t r = 0; r < count; ++r) turned[r] = entries[r * kGridColumns + k];
      }
    });
  }
}

// out[s][j] += sum_i c[s][i] k(rows[i], columns[j]); no entry is stored
template <typename T>
void add_grid(const GridBlock& block, const std::int64_t* columns, std::size_t n_columns,
              double scale, const double* c, std::size_t n_sums, double* out) {
  GridPanel panel(block.codes.stride);
  std::vector<double> sums(n_sums * kGridColumns);
  Watch watch;
  for (std::size_t j = 0; j < n_columns; j += kGridColumns) {
    panel.fill(block.codes, columns + j, std::min(kGridColumns, n_columns - j));
    std::fill(sums.begin(), sums.end(), 0.0);
    block.with(panel, block.n_rows, static_cast<T>(scale), watch,
               [&](std::size_t i, std::size_t count, const T* entries) {
      for (std::size_t s = 0; s < n_sums; ++s) {
        add_tile(entries, c + s * block.n_rows + i, count, sums.data() + s * kGridColumns);
      }
    });
    for (std::size_t s = 0; s < n_sums; ++s) {
      for (std::size_t k = 0; k < panel.size; ++k) {
        out[s * n_columns + j + k] += sums[s * kGridColumns + k];
      }
    }
  }
}

// The bytes of a row; the return value is by how much the row is off the grid, squared, and
// infinite where a byte does not hold it.
template <typename V>
SHORTLIST_INLINE double grid_codes_loop(const V* x, const double* lowest, double step,
                                        std::size_t n, std::uint8_t* out) {
  const double per_step = 1.0 / step;
  double error = 0.0;
  bool inside = true;
  for (std::size_t c = 0; c < n; ++c) {
    const double above = static_cast<double>(x[c]) - lowest[c];
    const double code = std::nearbyint(above * per_step);
    inside &= (code >= 0.0) & (code <= 255.0);
    const double off = above - code * step;
    error += off * off;
    out[c] = static_cast<std::uint8_t>(static_cast<std::int32_t>(inside ? code : 0.0));
  }
  return inside ? error : std::numeric_limits<double>::infinity();
}
SHORTLIST_CLONES inline double grid_codes(const float* x, const double* lowest, double step,
                                          std::size_t n, std::uint8_t* out) {
  return grid_codes_loop(x, lowest, step, n, out);
}
SHORTLIST_CLONES inline double grid_codes(const double* x, const double* lowest, double step,
                                          std::size_t n, std::uint8_t* out) {
  return grid_codes_loop(x, lowest, step, n, out);
}

}  // namespace shortlist
