// Where pair steps find the rows of a working set's kernel matrix: held in full, or computed as
// they are asked for.
//
// A row stays valid while the two that were asked for after it are in use.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gaussian_tiles.hpp"

namespace shortlist {

template <typename T>
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const T* row(std::size_t i) = 0;
  virtual double diagonal(std::size_t i) = 0;
};

template <typename T>
class MatrixRows final : public RowSource<T> {
 public:
  MatrixRows(const T* entries, std::size_t stride) : entries_(entries), stride_(stride) {}
  const T* row(std::size_t i) override { return entries_ + i * stride_; }
  double diagonal(std::size_t i) override { return row(i)[i]; }

 private:
  const T* entries_;
  std::size_t stride_;
};

// Rows and columns from `first` on.
template <typename T>
class RowsFrom final : public RowSource<T> {
 public:
  RowsFrom(RowSource<T>& rows, std::size_t first) : rows_(rows), first_(first) {}
  const T* row(std::size_t i) override { return rows_.row(first_ + i) + first_; }
  double diagonal(std::size_t i) override { return rows_.diagonal(first_ + i); }

 private:
  RowSource<T>& rows_;
  std::size_t first_;
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
      : n_(n), n_features_(n_features), kept_(kept), scaled_(n * n_features),
        tiles_((n + kTile - 1) / kTile * kTile * n_features), squares_(squares, squares + n), rows_(memory),
        slot_(n, kNone), holds_(kept), newer_(kept), older_(kept) {
    const T factor = static_cast<T>(2.0 * gamma);
    for (std::size_t k = 0; k < n * n_features; ++k) scaled_[k] = x[k] * factor;
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

 private:
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
    gaussian_of(scaled_.data() + i * n_features_, squares_[i], tiles_.data(), n_features_,
                squares_.data(), n_, rows_ + slot * n_);
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
  std::vector<T> scaled_, tiles_, squares_;
  T* rows_;
  std::vector<std::size_t> slot_;                   // of every row, where it is kept
  std::vector<std::size_t> holds_, newer_, older_;  // of every slot
  std::size_t filled_ = 0, newest_ = kNone, oldest_ = kNone;
};

}  // namespace shortlist
