// Cholesky factor of a Gram matrix that gains and loses rows, O(size^2) each time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace shortlist {

// Four sums side by side, so that the compiler may use wide registers.
template <typename A, typename B>
double dot(const A* a, const B* b, std::size_t n) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int l = 0; l < 4; ++l) {
      sum[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
    }
  }
  for (; i < n; ++i) sum[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Growing and shrinking Cholesky factor of a Gram matrix, rows stored with a stride.
class GramFactor {
 public:
  std::size_t size() const { return n_; }
  void clear() { n_ = 0; }

  // Solves L x = x in place.
  void forward(double* x) const {
    for (std::size_t i = 0; i < n_; ++i) {
      const double* l = row(i);
      x[i] = (x[i] - dot(l, x, i)) / l[i];
    }
  }

  // Solves L^T x = x in place.
  void backward(double* x) const {
    for (std::size_t i = n_; i-- > 0;) {
      const double* l = row(i);
      const double value = x[i] / l[i];
      x[i] = value;
      for (std::size_t j = 0; j < i; ++j) x[j] -= l[j] * value;
    }
  }

  // `half` is L^{-1} m for the new row's products m; `rest` what is left of its square.
  void append(const double* half, double rest) {
    if (n_ == stride_) grow();
    double* l = row(n_);
    std::copy(half, half + n_, l);
    l[n_] = std::sqrt(rest);
    ++n_;
  }

  void remove(std::size_t k) {
    for (std::size_t i = k + 1; i < n_; ++i) std::copy(row(i), row(i) + i + 1, row(i - 1));
    --n_;
    for (std::size_t i = k; i < n_; ++i) {
      double* l = row(i);
      const double length = std::hypot(l[i], l[i + 1]);
      const double c = l[i] / length, s = l[i + 1] / length;
      l[i] = length;
      for (std::size_t j = i + 1; j < n_; ++j) {
        double* below = row(j);
        const double a = below[i], b = below[i + 1];
        below[i] = c * a + s * b;
        below[i + 1] = c * b - s * a;
      }
    }
  }

 private:
  double* row(std::size_t i) { return data_.data() + i * stride_; }
  const double* row(std::size_t i) const { return data_.data() + i * stride_; }

  void grow() {
    const std::size_t stride = 2 * stride_ + 16;
    std::vector<double> data(stride * stride);
    for (std::size_t i = 0; i < n_; ++i) std::copy(row(i), row(i) + i + 1, &data[i * stride]);
    data_.swap(data);
    stride_ = stride;
  }

  std::size_t n_ = 0, stride_ = 0;
  std::vector<double> data_;
};

}  // namespace shortlist
