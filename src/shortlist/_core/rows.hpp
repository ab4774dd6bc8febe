// Products with compressed sparse rows whose values may be float32: sums are
// always kept in double, so that a certificate is as honest as the data.
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

}  // namespace shortlist
