// The Gaussian kernel of rows with few features, without a matrix product: rows side by side in
// tiles, feature by feature, so that sums stay in registers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "clones.hpp"
#include "gaussian.hpp"
#include "interrupt.hpp"

namespace shortlist {

constexpr std::size_t kTile = 64;

// `size` rows as one tile; places beyond them stay as they are.
template <typename T>
void fill_tile(const T* rows, std::size_t size, std::size_t n_features, T* tile) {
  for (std::size_t c = 0; c < n_features; ++c) {
    for (std::size_t j = 0; j < size; ++j) tile[c * kTile + j] = rows[j * n_features + c];
  }
}

// out[j] = exp(2 gamma x.y_j - gamma |x|^2 - gamma |y_j|^2) for the first `size` y of a tile,
// given x times 2 gamma.
template <typename T>
SHORTLIST_INLINE void gaussian_tile(const T* x, T square, const T* tile, std::size_t n_features,
                                    const T* squares, std::size_t size, T* out) {
  T sums[kTile] = {};
  for (std::size_t c = 0; c < n_features; ++c, tile += kTile) {
    for (std::size_t j = 0; j < kTile; ++j) sums[j] += x[c] * tile[j];
  }
  gaussian_loop(sums, square, squares, size, out);
}

// One row of the kernel, the y in tiles one after the other.
template <typename T>
SHORTLIST_INLINE void gaussian_of_loop(const T* x, T square, const T* tiles,
                                       std::size_t n_features, const T* squares, std::size_t n,
                                       T* out) {
  for (std::size_t j = 0; j < n; j += kTile) {
    gaussian_tile(x, square, tiles + j * n_features, n_features, squares + j,
                  std::min(kTile, n - j), out + j);
  }
}
SHORTLIST_CLONES inline void gaussian_of(const float* x, float square, const float* tiles,
                                         std::size_t n_features, const float* squares,
                                         std::size_t n, float* out) {
  gaussian_of_loop(x, square, tiles, n_features, squares, n, out);
}
SHORTLIST_CLONES inline void gaussian_of(const double* x, double square, const double* tiles,
                                         std::size_t n_features, const double* squares,
                                         std::size_t n, double* out) {
  gaussian_of_loop(x, square, tiles, n_features, squares, n, out);
}

// What entries are worth to the x as well: sums[i] += sum_j c[j] k(x_i, y_j), where c is given.
struct Back {
  const double* c = nullptr;
  double* sums = nullptr;
};

// sums[s][j] += c[s][i] k(x_i, y_j) over the rows x_i times 2 gamma from `first` on, kRows at a
// time, for the y of one tile, kLanes at a time: as many products as registers hold their sums of,
// so that none has to wait for the one before. Returns the first row that is left.
template <std::size_t kRows, std::size_t kLanes, typename T>
SHORTLIST_INLINE std::size_t gaussian_sums_block(const T* x, const T* squares, std::size_t first,
                                                 std::size_t n_rows, const T* tile,
                                                 std::size_t n_features, const T* tile_squares,
                                                 const double* c, std::size_t n_sums,
                                                 double* sums, const Back& back) {
  std::size_t i = first;
  for (; i + kRows <= n_rows; i += kRows) {
    for (std::size_t lane = 0; lane < kTile; lane += kLanes) {
      T entries[kRows][kLanes];
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t j = 0; j < kLanes; ++j) entries[r][j] = T{0};
      }
      const T *from = x + i * n_features, *to = tile + lane;
      for (std::size_t f = 0; f < n_features; ++f, to += kTile) {
        for (std::size_t r = 0; r < kRows; ++r) {
          const T value = from[r * n_features + f];
          for (std::size_t j = 0; j < kLanes; ++j) entries[r][j] += value * to[j];
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        gaussian_loop(entries[r], squares[i + r], tile_squares + lane, kLanes, entries[r]);
        for (std::size_t s = 0; s < n_sums; ++s) {
          const double factor = c[s * n_rows + i + r];
          double* sum = sums + s * kTile + lane;
          for (std::size_t j = 0; j < kLanes; ++j)
            sum[j] += factor * static_cast<double>(entries[r][j]);
        }
        if (back.c) {
          double total = 0.0;
#pragma omp simd reduction(+ : total)
          for (std::size_t j = 0; j < kLanes; ++j)
            total += back.c[lane + j] * static_cast<double>(entries[r][j]);
          back.sums[i + r] += total;
        }
      }
    }
  }
  return i;
}

template <typename T>
SHORTLIST_INLINE void gaussian_sums_loop(const T* x, const T* squares, std::size_t n_rows,
                                         const T* tile, std::size_t n_features,
                                         const T* tile_squares, const double* c,
                                         std::size_t n_sums, double* sums, const Back& back) {
  std::size_t i = 0;
  if (wide_registers()) {
    i = gaussian_sums_block<2, kTile>(x, squares, i, n_rows, tile, n_features, tile_squares, c,
                                      n_sums, sums, back);
  } else {
    i = gaussian_sums_block<3, kTile / 2>(x, squares, i, n_rows, tile, n_features, tile_squares,
                                          c, n_sums, sums, back);
  }
  gaussian_sums_block<1, kTile>(x, squares, i, n_rows, tile, n_features, tile_squares, c, n_sums,
                                sums, back);
}
SHORTLIST_CLONES inline void gaussian_sums(const float* x, const float* squares,
                                           std::size_t n_rows, const float* tile,
                                           std::size_t n_features, const float* tile_squares,
                                           const double* c, std::size_t n_sums, double* sums,
                                           const Back& back = {}) {
  gaussian_sums_loop(x, squares, n_rows, tile, n_features, tile_squares, c, n_sums, sums, back);
}
SHORTLIST_CLONES inline void gaussian_sums(const double* x, const double* squares,
                                           std::size_t n_rows, const double* tile,
                                           std::size_t n_features, const double* tile_squares,
                                           const double* c, std::size_t n_sums, double* sums,
                                           const Back& back = {}) {
  gaussian_sums_loop(x, squares, n_rows, tile, n_features, tile_squares, c, n_sums, sums, back);
}

// out[s][j] += sum_i c[s][i] k(x_i, y_j), the x times 2 gamma; no entry is stored. `back` has one
// coefficient for every y, and one sum for every x.
template <typename T>
void add_gaussian(const GaussianSide<T>& x, const GaussianSide<T>& y, std::size_t n_features,
                  const double* c, std::size_t n_sums, double* out, const Back& back = {}) {
  Watch watch;
  std::vector<T> tile(kTile * n_features), squares(kTile);
  std::vector<double> sums(kTile * n_sums), some(kTile);
  for (std::size_t start = 0; start < y.n; start += kTile) {
    const std::size_t size = std::min(kTile, y.n - start);
    fill_tile(y.rows + start * n_features, size, n_features, tile.data());
    std::copy_n(y.squares + start, size, squares.begin());
    std::fill(sums.begin(), sums.end(), 0.0);
    Back here;
    if (back.c) {
      // Places beyond the last y hold what they like, times zero.
      std::fill(std::copy_n(back.c + start, size, some.begin()), some.end(), 0.0);
      here = {some.data(), back.sums};
    }
    gaussian_sums(x.rows, x.squares, x.n, tile.data(), n_features, squares.data(), c, n_sums,
                  sums.data(), here);
    for (std::size_t s = 0; s < n_sums; ++s) {
      for (std::size_t j = 0; j < size; ++j) out[s * y.n + start + j] += sums[s * kTile + j];
    }
    watch.count(x.n * (n_features + 8));
  }
}

}  // namespace shortlist
