// Blocks of the Gaussian kernel: what a matrix product leaves to do.
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
#include <limits>
#include <type_traits>

#include "clones.hpp"
#include "interrupt.hpp"

namespace shortlist {

// Numbers are cut by their bits: among negative ones these, as whole numbers, rise with the size.
// Of a comparison of floats compilers make two branches here and compute both.
SHORTLIST_INLINE std::int32_t bits_of(float x) {
  std::int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
SHORTLIST_INLINE std::int64_t bits_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <typename T, typename Bits>
SHORTLIST_INLINE T number_of(Bits bits) {
  static_assert(sizeof(T) == sizeof(Bits));
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// x where it is negative, elsewhere -0
template <typename T>
SHORTLIST_INLINE T at_most_zero(T x) {
  const auto bits = bits_of(x);
  using Bits = std::remove_const_t<decltype(bits)>;
  return number_of<T>(bits < 0 ? bits : std::numeric_limits<Bits>::min());
}

// The larger of two negative numbers.
template <typename T>
SHORTLIST_INLINE T at_least(T x, T least) {
  const auto bits = bits_of(x), limit = bits_of(least);
  return number_of<T>(bits < limit ? bits : limit);
}

// 2^k times a number, k whole, its bits at the lower end of `power`
template <typename T>
SHORTLIST_INLINE T times_power_of_two(T x, T power) {
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  using Bits = decltype(bits_of(x));
  using Whole = std::make_unsigned_t<Bits>;
  const Whole added = static_cast<Whole>(bits_of(power)) << kMantissa;
  return number_of<T>(static_cast<Bits>(static_cast<Whole>(bits_of(x)) + added));
}

// exp(x) for x <= 0 (a zero must be -0) to two units in the last place, without branches so that
// loops vectorise: x = k ln 2 + r, a polynomial in r, k added to the exponent. Below -87 the
// smallest normal number.
SHORTLIST_INLINE float exp_negative(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  x = at_least(x, -87.0f);
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
  return times_power_of_two(p, shifted);
}

// The same in double. Its Taylor polynomial of degree 13 is off by 4e-18 for |r| <= ln(2)/2.
SHORTLIST_INLINE double exp_negative(double x) {
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  x = at_least(x, -708.0);
  const double shifted = x * 1.4426950408889634 + kShift;
  const double k = shifted - kShift;
  const double r = (x - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6;
  double p = 1.6059043836821613e-10;
  p = p * r + 2.0876756987868099e-9;
  p = p * r + 2.5052108385441719e-8;
  p = p * r + 2.7557319223985891e-7;
  p = p * r + 2.7557319223985891e-6;
  p = p * r + 2.4801587301587302e-5;
  p = p * r + 1.9841269841269841e-4;
  p = p * r + 1.3888888888888889e-3;
  p = p * r + 8.3333333333333333e-3;
  p = p * r + 4.1666666666666667e-2;
  p = p * r + 1.6666666666666667e-1;
  p = p * r + 0.5;
  p = p * r * r + r + 1.0;
  return times_power_of_two(p, shifted);
}

// out[j] = exp(inner[j] - square - squares[j]), never above 1
template <typename T>
SHORTLIST_INLINE void gaussian_loop(const T* inner, T square, const T* squares, std::size_t n,
                                    T* out) {
  for (std::size_t j = 0; j < n; ++j) {
    out[j] = exp_negative(at_most_zero(inner[j] - (square + squares[j])));
  }
}
SHORTLIST_CLONES inline void gaussian_row(const float* inner, float square, const float* squares,
                                          std::size_t n, float* out) {
  gaussian_loop(inner, square, squares, n, out);
}
SHORTLIST_CLONES inline void gaussian_row(const double* inner, double square,
                                          const double* squares, std::size_t n, double* out) {
  gaussian_loop(inner, square, squares, n, out);
}

// Some rows, and gamma times their squares.
template <typename T>
struct GaussianSide {
  const T* rows;
  const T* squares;
  std::size_t n;
};

// out_i = x of the i-th chosen row, minus the centre, rounded once
template <typename V, typename T>
void centred_rows(const V* x, std::size_t n_columns, const std::int64_t* rows, std::size_t n_rows,
                  const double* centre, T* out) {
  Watch watch;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const V* from = x + static_cast<std::size_t>(rows[i]) * n_columns;
    T* to = out + i * n_columns;
    for (std::size_t c = 0; c < n_columns; ++c)
      to[c] = static_cast<T>(static_cast<double>(from[c]) - centre[c]);
    watch.count(n_columns);
  }
}

}  // namespace shortlist
