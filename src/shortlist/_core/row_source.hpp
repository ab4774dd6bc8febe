// Where pair steps find the rows of a working set's kernel matrix: held in full, or computed as
// they are asked for.
//
// A row stays valid while the two that were asked for after it are in use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "duo.hpp"
#include "gaussian_tiles.hpp"
#include "kernel_rows.hpp"

namespace shortlist {

template <typename T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const T* row(std::size_t i) = 0;
  virtual double diagonal(std::size_t i) = 0;
  // Rows and columns from `first` on; valid as long as this source is, or until it is asked for
  // others.
  virtual RowSource& from(std::size_t first) = 0;
  // out[j] += sum of c[k] times row rows[k], for the first n columns.
  virtual void add(const std::size_t* rows, const double* c, std::size_t m, std::size_t n,
                   double* out) = 0;

  // Who helps, if anybody does.
  Duo* duo = nullptr;

  // run(first, last) over 0..n in two halves, whole blocks both but for the last.
  template <typename Run>
  void halves(std::size_t n, std::size_t block, bool brief, Run run) {
    const Halves sides(duo, n);
    const std::size_t cut = sides.cut(n, block);
    sides.both([&](int side) { side == 0 ? run(std::size_t{0}, cut) : run(cut, n); }, brief);
  }
};

template <typename T>
class MatrixRows final : public RowSource<T> {
 public:
  MatrixRows(const T* entries, std::size_t stride) : entries_(entries), stride_(stride) {}
  const T* row(std::size_t i) override { return entries_ + i * stride_; }
  double diagonal(std::size_t i) override { return row(i)[i]; }
  MatrixRows& from(std::size_t first) override {
    rest_ = std::make_unique<MatrixRows>(entries_ + first * stride_ + first, stride_);
    rest_->duo = this->duo;
    return *rest_;
  }
  void add(const std::size_t* rows, const double* c, std::size_t m, std::size_t n,
           double* out) override {
    this->halves(n, 1, false, [&](std::size_t first, std::size_t last) {
      for (std::size_t start = first; start < last; start += kBlock) {
        const std::size_t size = std::min(kBlock, last - start);
        for (std::size_t k = 0; k < m; ++k) add_row(row(rows[k]) + start, c[k], size, out + start);
      }
    });
  }

 private:
  static constexpr std::size_t kBlock = 2048;

  const T* entries_;
  std::size_t stride_;
  std::unique_ptr<MatrixRows> rest_;
};

// Rows of the Gaussian kernel among n rows of few features: computing one costs little more than
// reading it from memory, and memory that was never used before costs more than that. The rows
// asked for last are kept.
template <typename T>
class GaussianRows final : public RowSource<T> {
 public:
  // `x`: n rows of features; `squares`: gamma |x|^2; `memory`: room for `kept` rows, three at
  // least unless there are fewer.
  GaussianRows(const T* x, const T* squares, std::size_t n, std::size_t n_features, double gamma,
               T* memory, std::size_t kept)
      : n_(n), n_features_(n_features), kept_(kept), gamma_(gamma), x_(x, x + n * n_features),
        scaled_(n_features), tiles_((n + kTile - 1) / kTile * kTile * n_features),
        squares_(squares, squares + n), rows_(memory), slot_(n, kNone), holds_(kept),
        newer_(kept), older_(kept) {
    for (std::size_t start = 0; start < n; start += kTile) {
      fill_tile(x + start * n_features, std::min(kTile, n - start), n_features,
                tiles_.data() + start * n_features);
    }
  }

  std::size_t size() const { return n_; }

  const T* row(std::size_t i) override {
    if (slot_[i] == kNone) {
      take(i);
    } else if (slot_[i] != newest_) {
      unlink(slot_[i]);
      put_first(slot_[i]);
    }
    return rows_ + slot_[i] * n_;
  }
  double diagonal(std::size_t) override { return 1.0; }

  // Its rows are shorter: as much memory keeps more of them, often all.
  GaussianRows& from(std::size_t first) override {
    if (!rest_ || n_ - rest_->n_ != first) {
      const std::size_t n = n_ - first, most = kept_ * n_ / std::max<std::size_t>(n, 1);
      const std::size_t kept = std::min(n, std::max<std::size_t>(most, 3));
      rest_memory_.resize(n * kept);
      rest_ = std::make_unique<GaussianRows>(x_.data() + first * n_features_,
                                             squares_.data() + first, n, n_features_, gamma_,
                                             rest_memory_.data(), kept);
    }
    rest_->duo = this->duo;
    return *rest_;
  }

  void add(const std::size_t* rows, const double* c, std::size_t m, std::size_t n,
           double* out) override {
    gather(rows, m);
    scale();
    this->halves(n, kTile, false, [&](std::size_t first, std::size_t last) {
      for (std::size_t start = first; start < last; start += kTile)
        add_to_tile(c, m, start, std::min(kTile, last - start), out + start);
    });
  }

 private:
  // out[j] += sum over the m rows that were gathered, for `size` rows from `start` on.
  void add_to_tile(const double* c, std::size_t m, std::size_t start, std::size_t size,
                   double* out) const {
    const T* squares = squares_.data() + start;
    T padded[kTile];
    if (start + kTile > n_) {
      std::fill_n(std::copy_n(squares, n_ - start, padded), kTile - (n_ - start), T{0});
      squares = padded;
    }
    double sums[kTile] = {};
    gaussian_sums(some_.data(), some_squares_.data(), m, tiles_.data() + start * n_features_,
                  n_features_, squares, c, 1, sums);
    for (std::size_t j = 0; j < size; ++j) out[j] += sums[j];
  }

  void gather(const std::size_t* rows, std::size_t m) {
    some_.resize(m * n_features_);
    some_squares_.resize(m);
    for (std::size_t k = 0; k < m; ++k) {
      std::copy_n(x_.data() + rows[k] * n_features_, n_features_, some_.data() + k * n_features_);
      some_squares_[k] = squares_[rows[k]];
    }
  }
  void scale() {
    const T factor = static_cast<T>(2.0 * gamma_);
    for (T& value : some_) value *= factor;
  }

  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  void take(std::size_t i) {
    std::size_t slot = filled_;
    if (filled_ < kept_) {
      ++filled_;
    } else {
      slot = oldest_;
      unlink(slot);
      slot_[holds_[slot]] = kNone;
    }
    const T factor = static_cast<T>(2.0 * gamma_);
    for (std::size_t c = 0; c < n_features_; ++c) scaled_[c] = x_[i * n_features_ + c] * factor;
    this->halves(n_, kTile, true, [&](std::size_t first, std::size_t last) {
      gaussian_of(scaled_.data(), squares_[i], tiles_.data() + first * n_features_, n_features_,
                  squares_.data() + first, last - first, rows_ + slot * n_ + first);
    });
    slot_[i] = slot;
    holds_[slot] = i;
    put_first(slot);
  }

  void unlink(std::size_t slot) {
    const std::size_t newer = newer_[slot], older = older_[slot];
    (newer == kNone ? newest_ : older_[newer]) = older;
    (older == kNone ? oldest_ : newer_[older]) = newer;
  }

  void put_first(std::size_t slot) {
    newer_[slot] = kNone;
    older_[slot] = newest_;
    (newest_ == kNone ? oldest_ : newer_[newest_]) = slot;
    newest_ = slot;
  }

  std::size_t n_, n_features_, kept_;
  double gamma_;
  std::vector<T> x_, scaled_, tiles_, squares_;
  T* rows_;
  std::vector<std::size_t> slot_;                   // of every row, where it is kept
  std::vector<std::size_t> holds_, newer_, older_;  // of every slot
  std::size_t filled_ = 0, newest_ = kNone, oldest_ = kNone;
  std::unique_ptr<GaussianRows> rest_;
  std::vector<T> rest_memory_;
  std::vector<T> some_, some_squares_;
};

}  // namespace shortlist
