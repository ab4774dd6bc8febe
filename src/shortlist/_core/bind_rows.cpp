// Python access to products with rows and to rows of kernel matrices.
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "gaussian.hpp"
#include "kernel_rows.hpp"
#include "rows.hpp"

namespace shortlist {

namespace {

template <typename V, typename I>
CsrView<V, I> csr(const In<I>& start, const In<I>& column, const In<V>& value) {
  return {start.data(), column.data(), value.data(), start.shape(0) - 1};
}

template <typename V, typename I>
void bind_csr(nb::module_& m) {
  m.def(
      "csr_scores",
      [](In<I> start, In<I> column, In<V> value, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        csr_scores(csr(start, column, value), w.data(), out.data());
      },
      "start"_a, "column"_a, "value"_a, "w"_a, "out"_a);
  m.def(
      "csr_combine",
      [](In<I> start, In<I> column, In<V> value, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        csr_combine(csr(start, column, value), v.data(), out.data());
      },
      "start"_a, "column"_a, "value"_a, "v"_a, "out"_a);
  m.def(
      "csr_gram",
      [](In<I> start, In<I> column, In<V> value, In<double> v, OutMatrix<double> out) {
        nb::gil_scoped_release release;
        csr_gram(csr(start, column, value), v.data(), out.data(), out.shape(1));
      },
      "start"_a, "column"_a, "value"_a, "v"_a, "out"_a);
}

void bind_dense(nb::module_& m) {
  m.def(
      "dense_scores",
      [](InMatrix<float> rows, In<double> w, Out<double> out) {
        nb::gil_scoped_release release;
        dense_scores(rows.data(), rows.shape(0), rows.shape(1), w.data(), out.data());
      },
      "rows"_a, "w"_a, "out"_a);
  m.def(
      "dense_combine",
      [](InMatrix<float> rows, In<double> v, Out<double> out) {
        nb::gil_scoped_release release;
        std::vector<double> part(rows.shape(1));
        dense_combine(rows.data(), rows.shape(0), rows.shape(1), v.data(), part.data(),
                                 out.data());
      },
      "rows"_a, "v"_a, "out"_a);
}

// Kernel entries are never converted: a silent copy to float32 would cost digits.
template <typename T>
void bind_kernel_rows(nb::module_& m) {
  m.def(
      "add_rows",
      [](InMatrix<T> rows, Index slots, In<double> coefficients, Out<double> out) {
        if (slots.shape(0) != coefficients.shape(0) || out.shape(0) > rows.shape(1))
          throw std::invalid_argument("add_rows: array sizes do not match");
        nb::gil_scoped_release release;
        add_rows(rows.data(), rows.shape(1), slots.data(), coefficients.data(), slots.shape(0),
                 out.data(), out.shape(0));
      },
      "rows"_a.noconvert(), "slots"_a, "coefficients"_a, "out"_a);
  m.def(
      "gather",
      [](InMatrix<T> source, Index rows, Index columns, OutMatrix<T> out, Index to_rows, Index to_columns) {
        if (rows.shape(0) != to_rows.shape(0) || columns.shape(0) != to_columns.shape(0))
          throw std::invalid_argument("gather: array sizes do not match");
        nb::gil_scoped_release release;
        gather(source.data(), source.shape(1), rows.data(), rows.shape(0), columns.data(),
               columns.shape(0), out.data(), out.shape(1), to_rows.data(), to_columns.data());
      },
      "source"_a.noconvert(), "rows"_a, "columns"_a, "out"_a.noconvert(), "to_rows"_a, "to_columns"_a);
  m.def(
      "mirror",
      [](InMatrix<T> block, OutMatrix<T> out, Index rows, Index columns) {
        if (block.shape(0) != rows.shape(0) || block.shape(1) != columns.shape(0))
          throw std::invalid_argument("mirror: array sizes do not match");
        nb::gil_scoped_release release;
        mirror(block.data(), rows.data(), rows.shape(0), columns.data(), columns.shape(0),
               out.data(), out.shape(1));
      },
      "block"_a.noconvert(), "out"_a.noconvert(), "rows"_a, "columns"_a);
}

void bind_gaussian(nb::module_& m) {
  m.def(
      "centred_rows",
      [](InMatrix<float> X, Index rows, In<float> centre, OutMatrix<float> out) {
        const std::size_t d = X.shape(1);
        if (out.shape(0) != rows.shape(0) || out.shape(1) != d || centre.shape(0) != d)
          throw std::invalid_argument("centred_rows: array sizes do not match");
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < rows.shape(0); ++i) {
          const float* from = X.data() + static_cast<std::size_t>(rows.data()[i]) * d;
          float* to = out.data() + i * d;
          for (std::size_t c = 0; c < d; ++c) to[c] = from[c] - centre.data()[c];
        }
      },
      "X"_a.noconvert(), "rows"_a, "centre"_a.noconvert(), "out"_a.noconvert());
  m.def(
      "gaussian_entries",
      [](InMatrix<float> inner, In<float> row_squares, In<float> column_squares, OutMatrix<float> out, Index slots,
         std::size_t start) {
        const std::size_t n = inner.shape(1);
        if (row_squares.shape(0) != inner.shape(0) || slots.shape(0) != inner.shape(0) ||
            column_squares.shape(0) != n || start + n > out.shape(1))
          throw std::invalid_argument("gaussian_entries: array sizes do not match");
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < inner.shape(0); ++i) {
          float* to = out.data() + static_cast<std::size_t>(slots.data()[i]) * out.shape(1);
          gaussian_row(inner.data() + i * n, row_squares.data()[i], column_squares.data(), n,
                       to + start);
        }
      },
      "inner"_a.noconvert(), "row_squares"_a.noconvert(), "column_squares"_a.noconvert(),
      "out"_a.noconvert(), "slots"_a, "start"_a);
}

}  // namespace

void bind_rows(nb::module_& m) {
  bind_csr<double, std::int32_t>(m);
  bind_csr<double, std::int64_t>(m);
  bind_csr<float, std::int32_t>(m);
  bind_csr<float, std::int64_t>(m);
  bind_dense(m);
  bind_kernel_rows<float>(m);
  bind_kernel_rows<double>(m);
  bind_gaussian(m);
}

}  // namespace shortlist
