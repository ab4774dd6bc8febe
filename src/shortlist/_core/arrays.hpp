// Arrays as the compiled functions take them, and the checks that every function makes
// before it reads them.
//
// All are in C order and in main memory. What is written ("name"_out) and what is large or
// holds numbers of rows ("name"_in) is never converted: a copy of an output would be lost, a
// copy of a matrix costs memory, and a narrowed index or kernel entry is another one. Only
// vectors of doubles that are read may be given in another type.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace shortlist {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Index = In<std::int64_t>;

inline auto operator""_in(const char* name, std::size_t) { return nb::arg(name).noconvert(); }
inline auto operator""_out(const char* name, std::size_t) { return nb::arg(name).noconvert(); }

// Becomes a ValueError.
[[noreturn]] inline void refuse(const std::string& what) { throw std::invalid_argument(what); }

inline void check_size(const char* name, std::size_t size, std::size_t expected) {
  if (size != expected)
    refuse(std::string(name) + " must hold " + std::to_string(expected) + " values, got " +
           std::to_string(size));
}

template <typename Vector>
void check_size(const char* name, const Vector& vector, std::size_t expected) {
  check_size(name, vector.shape(0), expected);
}

template <typename Matrix>
void check_shape(const char* name, const Matrix& matrix, std::size_t rows, std::size_t columns) {
  if (matrix.shape(0) != rows || matrix.shape(1) != columns)
    refuse(std::string(name) + " must have the shape (" + std::to_string(rows) + ", " +
           std::to_string(columns) + "), got (" + std::to_string(matrix.shape(0)) + ", " +
           std::to_string(matrix.shape(1)) + ")");
}

inline void check_some(const char* name, std::size_t size) {
  if (size == 0) refuse(std::string(name) + " must not be empty");
}

// Whether 0 <= index < bound throughout. Without branches: the sign of i or of bound - 1 - i
// tells, and both are gathered in one word.
template <typename I>
bool within(const I* index, std::size_t n, std::size_t bound) {
  using U = std::make_unsigned_t<I>;
  if (bound == 0) return n == 0;
  const U last = static_cast<U>(
      std::min<std::uint64_t>(bound - 1, static_cast<std::uint64_t>(std::numeric_limits<I>::max())));
  U signs = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const U i = static_cast<U>(index[p]);
    signs |= i | static_cast<U>(last - i);
  }
  return (signs >> (std::numeric_limits<U>::digits - 1)) == 0;
}

// Checks index[first..last].
template <typename I>
void check_index(const char* name, const I* index, std::size_t first, std::size_t last,
                 std::size_t bound) {
  if (within(index + first, last - first, bound)) return;
  while (within(index + first, 1, bound)) ++first;
  refuse(std::string(name) + " must lie between 0 and " + std::to_string(bound) +
         " (exclusive), got " + std::to_string(index[first]) + " at position " +
         std::to_string(first));
}

template <typename I>
void check_index(const char* name, const In<I>& index, std::size_t bound) {
  check_index(name, index.data(), 0, index.shape(0), bound);
}

// Row starts: from 0 on, never falling, none beyond the `count` entries.
template <typename I>
void check_starts(const char* name, const In<I>& start, std::size_t count) {
  if (start.shape(0) == 0) refuse(std::string(name) + " must not be empty");
  const I* s = start.data();
  bool falls = false;
  for (std::size_t i = 0; i + 1 < start.shape(0); ++i) falls |= s[i + 1] < s[i];
  if (falls) refuse(std::string(name) + " must not fall");
  if (s[0] < 0 || static_cast<std::uint64_t>(s[start.shape(0) - 1]) > count)
    refuse(std::string(name) + " must lie between 0 and the number of entries, " +
           std::to_string(count));
}

template <typename T>
void check_numbers(const char* name, const T* values, std::size_t n) {
  bool missing = false;
  for (std::size_t i = 0; i < n; ++i) missing |= values[i] != values[i];
  if (missing) refuse(std::string(name) + " must not hold NaN");
}

}  // namespace shortlist
