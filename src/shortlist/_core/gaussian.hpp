// Blocks of the Gaussian kernel in float32: what a matrix product leaves to do.
//
//   k(x, y) = exp(2 gamma x.y - gamma |x|^2 - gamma |y|^2)
//
// The product is BLAS's; before it rows are collected around a common centre (the
// squares stay small, and with them the cancellation), after it one pass subtracts the
// squares, takes the exponential and stores the block where it belongs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

// exp(x) for x <= 0 to two units in the last place, without branches so that loops
// vectorise: x = k ln 2 + r, a polynomial in r, k added to the exponent. Below -87 the
// smallest normal number.
inline float exp_negative(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  x = x > -87.0f ? x : -87.0f;
  const float shifted = x * 1.44269504f + kShift;
  const float k = shifted - kShift;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  std::int32_t power, bits;
  std::memcpy(&power, &shifted, sizeof power);
  std::memcpy(&bits, &p, sizeof bits);
  bits += static_cast<std::int32_t>(static_cast<std::uint32_t>(power) << 23);
  std::memcpy(&p, &bits, sizeof p);
  return p;
}

// out[j] = exp(inner[j] - square - squares[j]), never above 1
SHORTLIST_CLONES inline void gaussian_row(const float* inner, float square, const float* squares,
                                          std::size_t n, float* out) {
  for (std::size_t j = 0; j < n; ++j) {
    const float x = inner[j] - (square + squares[j]);
    out[j] = exp_negative(x < 0.0f ? x : 0.0f);
  }
}

// out_i = x of the i-th chosen row, minus the centre
inline void centred_rows(const float* x, std::size_t n_columns, const std::int64_t* rows,
                         std::size_t n_rows, const float* centre, float* out) {
  Watch watch;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const float* from = x + static_cast<std::size_t>(rows[i]) * n_columns;
    float* to = out + i * n_columns;
    for (std::size_t c = 0; c < n_columns; ++c) to[c] = from[c] - centre[c];
    watch.count(n_columns);
  }
}

}  // namespace shortlist
