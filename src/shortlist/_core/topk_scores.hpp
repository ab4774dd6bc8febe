// Where the scores of a row come from, and how a change of its dual reaches them.
#pragma once

#include <cstddef>

#include "clones.hpp"
#include "rows.hpp"
#include "topk.hpp"

namespace shortlist {

// W (features x classes) with a constant feature of value `bias` in its last row, unless 0.
struct LinearModel {
  double* w;
  std::size_t m;
  double bias;
  std::size_t n_features;

  void start(double* z) const {
    const double* last = w + n_features * m;
    for (std::size_t j = 0; j < m; ++j) z[j] = bias == 0.0 ? 0.0 : bias * last[j];
  }

  void write(std::size_t feature, double value, const DualEntry* change, std::size_t count) {
    double* wf = w + feature * m;
    for (std::size_t e = 0; e < count; ++e) wf[change[e].label] += value * change[e].value;
  }

  void finish(const DualEntry* change, std::size_t count) {
    if (bias != 0.0) write(n_features, bias, change, count);
  }
};

// z += row . W. Sixteen classes at a time stay in registers while the features pass by.
template <typename V>
SHORTLIST_INLINE void add_scores_loop(const V* row, const double* model, std::size_t n_features,
                                      std::size_t m, double* z) {
  constexpr std::size_t kTile = 16;
  std::size_t j = 0;
  for (; j + kTile <= m; j += kTile) {
    double sum[kTile];
    for (std::size_t t = 0; t < kTile; ++t) sum[t] = z[j + t];
    const double* w = model + j;
    for (std::size_t f = 0; f < n_features; ++f, w += m) {
      const double value = row[f];
      for (std::size_t t = 0; t < kTile; ++t) sum[t] += value * w[t];
    }
    for (std::size_t t = 0; t < kTile; ++t) z[j + t] = sum[t];
  }
  if (j == m) return;
  const double* w = model;
  for (std::size_t f = 0; f < n_features; ++f, w += m) {
    const double value = row[f];
    for (std::size_t t = j; t < m; ++t) z[t] += value * w[t];
  }
}
SHORTLIST_CLONES inline void add_scores(const double* row, const double* model,
                                        std::size_t n_features, std::size_t m, double* z) {
  add_scores_loop(row, model, n_features, m, z);
}
SHORTLIST_CLONES inline void add_scores(const float* row, const double* model,
                                        std::size_t n_features, std::size_t m, double* z) {
  add_scores_loop(row, model, n_features, m, z);
}

// The same of the entries that a sparse row stores.
template <typename V, typename I>
SHORTLIST_INLINE void add_stored_loop(const V* value, const I* column, std::size_t stored,
                                      const double* model, std::size_t m, double* z) {
  for (std::size_t p = 0; p < stored; ++p) {
    const double* w = model + static_cast<std::size_t>(column[p]) * m;
    const double x = value[p];
    for (std::size_t j = 0; j < m; ++j) z[j] += x * w[j];
  }
}
#define SHORTLIST_ADD_STORED(V, I)                                                             \
  SHORTLIST_CLONES inline void add_stored(const V* value, const I* column, std::size_t stored, \
                                          const double* model, std::size_t m, double* z) {     \
    add_stored_loop(value, column, stored, model, m, z);                                       \
  }
SHORTLIST_ADD_STORED(double, std::int32_t)
SHORTLIST_ADD_STORED(double, std::int64_t)
SHORTLIST_ADD_STORED(float, std::int32_t)
SHORTLIST_ADD_STORED(float, std::int64_t)
#undef SHORTLIST_ADD_STORED

template <typename V>
struct DenseScores {
  const V* x;
  LinearModel model;

  std::size_t work(std::size_t) const { return model.m * (model.n_features + 1); }

  void scores(std::size_t i, double* z) const {
    model.start(z);
    const V* row = x + i * model.n_features;
    add_scores(row, model.w, model.n_features, model.m, z);
  }

  void add(std::size_t i, const DualEntry* change, std::size_t count) {
    const V* row = x + i * model.n_features;
    for (std::size_t f = 0; f < model.n_features; ++f) model.write(f, row[f], change, count);
    model.finish(change, count);
  }
};

// The product of a row and the weights of one class. Sums of eight in turn vectorise.
template <typename V>
SHORTLIST_INLINE double dot_loop(const V* row, const double* w, std::size_t n_features) {
  constexpr std::size_t kTile = 8;
  double sum[kTile] = {};
  std::size_t f = 0;
  for (; f + kTile <= n_features; f += kTile) {
    for (std::size_t t = 0; t < kTile; ++t) sum[t] += row[f + t] * w[f + t];
  }
  double rest = 0.0;
  for (; f < n_features; ++f) rest += row[f] * w[f];
  for (std::size_t t = 0; t < kTile; ++t) rest += sum[t];
  return rest;
}

// out[label] = row . w of some classes, and w of some classes += change * row.
#define SHORTLIST_SOME_CLASSES(V)                                                               \
  SHORTLIST_CLONES inline void some_scores(const V* row, const double* w, std::size_t d,        \
                                           std::size_t width, const std::int32_t* labels,       \
                                           std::size_t count, double* out) {                    \
    for (std::size_t e = 0; e < count; ++e) {                                                   \
      out[labels[e]] = dot_loop(row, w + static_cast<std::size_t>(labels[e]) * width, d);       \
    }                                                                                           \
  }                                                                                             \
  SHORTLIST_CLONES inline void add_to_classes(const V* row, double* w, std::size_t d,           \
                                              std::size_t width, const DualEntry* change,       \
                                              std::size_t count) {                              \
    for (std::size_t e = 0; e < count; ++e) {                                                   \
      double* to = w + static_cast<std::size_t>(change[e].label) * width;                       \
      const double value = change[e].value;                                                     \
      for (std::size_t f = 0; f < d; ++f) to[f] += value * row[f];                              \
    }                                                                                           \
  }
SHORTLIST_SOME_CLASSES(double)
SHORTLIST_SOME_CLASSES(float)
#undef SHORTLIST_SOME_CLASSES

// Dense rows and W with the weights of a class side by side (classes x features), for steps
// that look at a few classes.
template <typename V>
struct ClassScores {
  const V* x;
  double* w;
  double bias;
  std::size_t n_features;
  std::size_t width;

  std::size_t work(std::size_t) const { return n_features + 1; }
  std::size_t work_of_class(std::size_t) const { return n_features + 8; }

  void some(std::size_t i, const std::int32_t* labels, std::size_t count, double* out) const {
    some_scores(x + i * n_features, w, n_features, width, labels, count, out);
    if (bias == 0.0) return;
    for (std::size_t e = 0; e < count; ++e) {
      out[labels[e]] += bias * w[static_cast<std::size_t>(labels[e]) * width + n_features];
    }
  }

  void add(std::size_t i, const DualEntry* change, std::size_t count) {
    add_to_classes(x + i * n_features, w, n_features, width, change, count);
    if (bias == 0.0) return;
    for (std::size_t e = 0; e < count; ++e) {
      w[static_cast<std::size_t>(change[e].label) * width + n_features] += bias * change[e].value;
    }
  }
};

template <typename V, typename I>
struct CsrScores {
  CsrView<V, I> x;
  LinearModel model;

  std::size_t work(std::size_t i) const { return model.m * (x.stored(i, i + 1) + 1); }
  std::size_t work_of_class(std::size_t i) const { return 2 * x.stored(i, i + 1) + 8; }

  void some(std::size_t i, const std::int32_t* labels, std::size_t count, double* out) const {
    x.check(i, i + 1);
    const double* last = model.w + model.n_features * model.m;
    for (std::size_t e = 0; e < count; ++e) {
      out[labels[e]] = model.bias == 0.0 ? 0.0 : model.bias * last[labels[e]];
    }
    for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
      const double* w = model.w + static_cast<std::size_t>(x.column[p]) * model.m;
      const double value = x.value[p];
      for (std::size_t e = 0; e < count; ++e) out[labels[e]] += value * w[labels[e]];
    }
  }

  // Rows are checked when their scores are read, which every change of them follows.
  void scores(std::size_t i, double* z) const {
    x.check(i, i + 1);
    model.start(z);
    const I first = x.start[i];
    add_stored(x.value + first, x.column + first, x.stored(i, i + 1), model.w, model.m, z);
  }

  void add(std::size_t i, const DualEntry* change, std::size_t count) {
    for (I p = x.start[i]; p < x.start[i + 1]; ++p) {
      model.write(x.column[p], x.value[p], change, count);
    }
    model.finish(change, count);
  }
};

// Scores kept for all rows (classes x rows); kernel rows of one batch from row `first`.
struct KernelScores {
  double* z;
  const double* kernel;
  std::size_t first;
  std::size_t n;
  std::size_t m;

  std::size_t work(std::size_t) const { return 4 * n + m; }

  void scores(std::size_t i, double* out) const {
    for (std::size_t j = 0; j < m; ++j) out[j] = z[j * n + i];
  }

  void add(std::size_t i, const DualEntry* change, std::size_t count) {
    const double* row = kernel + (i - first) * n;
    for (std::size_t e = 0; e < count; ++e) {
      double* to = z + static_cast<std::size_t>(change[e].label) * n;
      const double value = change[e].value;
      for (std::size_t r = 0; r < n; ++r) to[r] += value * row[r];
    }
  }
};

}  // namespace shortlist
