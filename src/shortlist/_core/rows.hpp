// Products with rows whose values may be float32, sparse or dense: sums are always
// kept in double, so that a certificate is as honest as the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shortlist {

template <typename Value, typename Index>
struct CsrView {
  const Index* start;    // n_rows + 1
  const Index* column;
  const Value* value;
  std::size_t n_rows;
};

// out_i = x_i . w
template <typename V, typename I>
void csr_scores(const CsrView<V, I>& x, const double* w, double* out) {
  for (std::size_t i = 0; i < x.n_rows; ++i) {
    double sum = 0.0;
    for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
      sum += static_cast<double>(x.value[p]) * w[x.column[p]];
    }
    out[i] = sum;
  }
}

// out += sum_i v_i x_i
template <typename V, typename I>
void csr_combine(const CsrView<V, I>& x, const double* v, double* out) {
  for (std::size_t i = 0; i < x.n_rows; ++i) {
    const double vi = v[i];
    if (vi == 0.0) continue;
    for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
      out[x.column[p]] += vi * static_cast<double>(x.value[p]);
    }
  }
}

// Upper triangle of out += sum_i v_i x_i x_i^T, columns sorted within a row.
template <typename V, typename I>
void csr_gram(const CsrView<V, I>& x, const double* v, double* out, std::size_t n_columns) {
  for (std::size_t i = 0; i < x.n_rows; ++i) {
    const double vi = v[i];
    if (vi == 0.0) continue;
    const I end = x.start[i + 1];
    for (I p = x.start[i]; p < end; ++p) {
      const double scaled = vi * static_cast<double>(x.value[p]);
      double* row = out + static_cast<std::size_t>(x.column[p]) * n_columns;
      for (I q = p; q < end; ++q) row[x.column[q]] += scaled * static_cast<double>(x.value[q]);
    }
  }
}

// out_i = x_i . w for dense float32 rows, converted as they are read. Eight sums, because
// the compiler may not reorder one.
inline void dense_scores(const float* x, std::size_t n_rows, std::size_t n_columns,
                         const double* w, double* out) {
  constexpr std::size_t width = 8;
  const std::size_t whole = n_columns - n_columns % width;
  for (std::size_t i = 0; i < n_rows; ++i, x += n_columns) {
    double sum[width] = {};
    for (std::size_t j = 0; j < whole; j += width) {
      for (std::size_t l = 0; l < width; ++l) {
        sum[l] += static_cast<double>(x[j + l]) * w[j + l];
      }
    }
    double total = ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
                   ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    for (std::size_t j = whole; j < n_columns; ++j) total += static_cast<double>(x[j]) * w[j];
    out[i] = total;
  }
}

}  // namespace shortlist
