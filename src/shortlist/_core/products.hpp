// Gaussian entries tile by tile: products of twelve rows with two registers full of columns, their
// exponentials at once, stored or summed. On processors with AVX-512, whatever BLAS makes of
// them; elsewhere products are BLAS's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clones.hpp"
#include "gaussian.hpp"
#include "interrupt.hpp"

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && \
    !defined(SHORTLIST_SANITIZED)
#define SHORTLIST_WIDE_PRODUCTS
#endif

namespace shortlist {

constexpr std::size_t kProductRows = 12;
template <typename T>
constexpr std::size_t kProductColumns = 128 / sizeof(T);
// Terms of a float32 product that are summed together: short sums round less. Bounds of the
// entries count on it: `longest_sum` of rows/gaussian.py.
constexpr std::size_t kTerms = 256;

// Whether products are fast here; elsewhere they are as right.
inline bool makes_products() {
#ifdef SHORTLIST_WIDE_PRODUCTS
  static const bool known = __builtin_cpu_supports("avx512f");
  return known;
#else
  return false;
#endif
}

// products[r][j] = sum over features of rows[r] times those of column j of a panel
template <typename T>
void plain_product_tile(const T* const* rows, const T* panel, std::size_t n_features,
                        T* products) {
  constexpr std::size_t kColumns = kProductColumns<T>;
  std::fill_n(products, kProductRows * kColumns, T{0});
  for (std::size_t f = 0; f < n_features; ++f, panel += kColumns) {
    for (std::size_t r = 0; r < kProductRows; ++r) {
      for (std::size_t j = 0; j < kColumns; ++j)
        products[r * kColumns + j] += rows[r][f] * panel[j];
    }
  }
}

#ifdef SHORTLIST_WIDE_PRODUCTS
template <typename T>
__attribute__((target("avx512f"))) void wide_product_tile(const T* const* rows, const T* panel,
                                                          std::size_t n_features, T* products) {
  typedef T Lanes __attribute__((vector_size(64), aligned(alignof(T)), may_alias));
  constexpr std::size_t kLanes = 64 / sizeof(T);
  const std::size_t together = sizeof(T) == 4 ? kTerms : std::max<std::size_t>(n_features, 1);
  std::fill_n(products, kProductRows * 2 * kLanes, T{0});
  for (std::size_t first = 0; first < n_features; first += together) {
    const std::size_t last = std::min(first + together, n_features);
    Lanes sums[kProductRows][2] = {};
    for (std::size_t f = first; f < last; ++f, panel += 2 * kLanes) {
      const Lanes left = *reinterpret_cast<const Lanes*>(panel);
      const Lanes right = *reinterpret_cast<const Lanes*>(panel + kLanes);
#pragma GCC unroll 12
      for (std::size_t r = 0; r < kProductRows; ++r) {
        sums[r][0] += rows[r][f] * left;
        sums[r][1] += rows[r][f] * right;
      }
    }
    Lanes* to = reinterpret_cast<Lanes*>(products);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < kProductRows; ++r) {
      to[2 * r] += sums[r][0];
      to[2 * r + 1] += sums[r][1];
    }
  }
}
#endif

template <typename T>
void product_tile(const T* const* rows, const T* panel, std::size_t n_features, T* products) {
#ifdef SHORTLIST_WIDE_PRODUCTS
  if (makes_products()) return wide_product_tile(rows, panel, n_features, products);
#endif
  plain_product_tile(rows, panel, n_features, products);
}

// Entries of a tile from its products, in their place.
template <typename T>
SHORTLIST_INLINE void entry_tile_loop(const T* squares, const T* column_squares, T* products) {
  constexpr std::size_t kColumns = kProductColumns<T>;
  for (std::size_t r = 0; r < kProductRows; ++r)
    gaussian_loop(products + r * kColumns, squares[r], column_squares, kColumns,
                  products + r * kColumns);
}
SHORTLIST_CLONES inline void entry_tile(const float* squares, const float* column_squares,
                                        float* products) {
  entry_tile_loop(squares, column_squares, products);
}
SHORTLIST_CLONES inline void entry_tile(const double* squares, const double* column_squares,
                                        double* products) {
  entry_tile_loop(squares, column_squares, products);
}

// take(i, j, n_rows, n_columns, entries) for tile after tile of k(x_i, y_j), the x times 2 gamma.
// Places of a tile beyond its rows and columns hold other entries.
template <typename T, typename Take>
void each_gaussian_tile(const GaussianSide<T>& x, const GaussianSide<T>& y,
                        std::size_t n_features, Take take) {
  constexpr std::size_t kRows = kProductRows, kColumns = kProductColumns<T>;
  std::vector<T> panel(n_features * kColumns);
  T squares[kRows], column_squares[kColumns];
  alignas(64) T entries[kRows * kColumns];
  const T* some[kRows];
  Watch watch;
  for (std::size_t j = 0; j < y.n; j += kColumns) {
    const std::size_t n_columns = std::min(kColumns, y.n - j);
    for (std::size_t k = 0; k < kColumns; ++k) {
      const std::size_t column = k < n_columns ? j + k : j;
      column_squares[k] = y.squares[column];
      for (std::size_t f = 0; f < n_features; ++f)
        panel[f * kColumns + k] = y.rows[column * n_features + f];
    }
    for (std::size_t i = 0; i < x.n; i += kRows) {
      const std::size_t n_rows = std::min(kRows, x.n - i);
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t row = i + (r < n_rows ? r : 0);
        some[r] = x.rows + row * n_features;
        squares[r] = x.squares[row];
      }
      product_tile(some, panel.data(), n_features, entries);
      entry_tile(squares, column_squares, entries);
      take(i, j, n_rows, n_columns, static_cast<const T*>(entries));
      watch.count(n_rows * n_columns * (n_features / 8 + 4));
    }
  }
}

}  // namespace shortlist
