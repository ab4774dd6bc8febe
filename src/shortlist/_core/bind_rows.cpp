// Python access to products with rows and to rows of kernel matrices.
#include <limits>
#include <new>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "gaussian.hpp"
#include "gaussian_tiles.hpp"
#include "grid.hpp"
#include "interrupt.hpp"
#include "kernel_rows.hpp"
#include "products.hpp"
#include "rows.hpp"

namespace shortlist {

namespace {

template <typename V, typename I>
void bind_csr(nb::module_& m) {
  m.def(
      "check_csr",
      [](In<I> start, In<I> column, In<V> value, std::size_t n_columns) {
        const auto x = csr(start, column, value, n_columns);
        nb::gil_scoped_release release;
        x.check(0, x.n_rows);
      },
      "start"_in, "column"_in, "value"_in, "n_columns"_a);
  m.def(
      "csr_scores",
      [](In<I> start, In<I> column, In<V> value, In<double> w, Out<double> out,
         std::size_t checked) {
        const auto x = csr(start, column, value, w.shape(0));
        check_size("out", out, x.n_rows);
        nb::gil_scoped_release release;
        if (checked && checked <= x.n_columns) return csr_scores<true>(x, w.data(), out.data());
        csr_scores<false>(x, w.data(), out.data());
      },
      "start"_in, "column"_in, "value"_in, "w"_a, "out"_out, "checked"_a = 0);
  m.def(
      "csr_combine",
      [](In<I> start, In<I> column, In<V> value, In<double> v, Out<double> out,
         std::size_t checked) {
        const auto x = csr(start, column, value, out.shape(0));
        check_size("v", v, x.n_rows);
        nb::gil_scoped_release release;
        if (checked && checked <= x.n_columns) return csr_combine<true>(x, v.data(), out.data());
        csr_combine<false>(x, v.data(), out.data());
      },
      "start"_in, "column"_in, "value"_in, "v"_a, "out"_out, "checked"_a = 0);
  m.def(
      "csr_combines",
      [](In<I> start, In<I> column, In<V> value, InMatrix<double> v, OutMatrix<double> out,
         std::size_t checked) {
        const auto x = csr(start, column, value, out.shape(0));
        check_shape("v", v, out.shape(1), x.n_rows);
        nb::gil_scoped_release release;
        if (checked && checked <= x.n_columns)
          return csr_combines<true>(x, v.data(), out.shape(1), out.data());
        csr_combines<false>(x, v.data(), out.shape(1), out.data());
      },
      "start"_in, "column"_in, "value"_in, "v"_in, "out"_out, "checked"_a = 0);
  m.def(
      "csr_gram",
      [](In<I> start, In<I> column, In<V> value, In<double> v, OutMatrix<double> out) {
        const auto x = csr(start, column, value, out.shape(1));
        check_size("v", v, x.n_rows);
        check_shape("out", out, x.n_columns, x.n_columns);
        nb::gil_scoped_release release;
        csr_gram(x, v.data(), out.data());
      },
      "start"_in, "column"_in, "value"_in, "v"_a, "out"_out);
}

// Memory that is taken only where it is written to. numpy.empty asks for huge pages: they are
// cheaper where the machine has them at hand (0.1 ns a byte at the first touch instead of 0.5),
// but several times dearer where a virtual machine must ask its host for each of them (2 ns).
template <typename T>
nb::object room(std::size_t n_rows, std::size_t n_columns) {
  if (n_columns && n_rows > std::numeric_limits<std::size_t>::max() / sizeof(T) / n_columns)
    throw std::bad_alloc();
  T* values = new T[n_rows * n_columns];
  nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(values, {n_rows, n_columns}, owner));
}

void bind_memory(nb::module_& m) {
  m.def(
      "room",
      [](std::size_t n_rows, std::size_t n_columns, bool single) {
        return single ? room<float>(n_rows, n_columns) : room<double>(n_rows, n_columns);
      },
      "n_rows"_a, "n_columns"_a, "single"_a);
}

void bind_dense(nb::module_& m) {
  m.def(
      "dense_scores",
      [](InMatrix<float> rows, In<double> w, Out<double> out) {
        const std::size_t d = rows.shape(1);
        check_size("w", w, d);
        check_size("out", out, rows.shape(0));
        nb::gil_scoped_release release;
        Watch().parts(rows.shape(0), d, [&](std::size_t first, std::size_t last) {
          dense_scores(rows.data() + first * d, last - first, d, w.data(), out.data() + first);
        });
      },
      "rows"_in, "w"_a, "out"_out);
  m.def(
      "dense_combine",
      [](InMatrix<float> rows, In<double> v, Out<double> out) {
        const std::size_t n = rows.shape(0), d = rows.shape(1);
        check_size("v", v, n);
        check_size("out", out, d);
        nb::gil_scoped_release release;
        std::vector<double> part(d);
        // Whole groups of rows: a part must not change the order of the sums.
        Watch().parts((n + kCombined - 1) / kCombined, kCombined * d,
                      [&](std::size_t first, std::size_t last) {
                        const std::size_t from = first * kCombined;
                        const std::size_t count = std::min(n, last * kCombined) - from;
                        dense_combine(rows.data() + from * d, count, d, v.data() + from,
                                      part.data(), out.data());
                      });
      },
      "rows"_in, "v"_a, "out"_out);
}

template <typename T>
void bind_gram(nb::module_& m) {
  m.def(
      "dense_gram",
      [](InMatrix<T> rows, In<double> v, OutMatrix<double> out, bool by_column) {
        const std::size_t n_rows = rows.shape(by_column), n_columns = rows.shape(!by_column);
        check_size("v", v, n_rows);
        check_shape("out", out, n_columns, n_columns);
        const Places at = by_column ? Places{1, n_rows} : Places{n_columns, 1};
        nb::gil_scoped_release release;
        dense_gram(rows.data(), at, n_rows, n_columns, v.data(), out.data());
      },
      "rows"_in, "v"_a, "out"_out, "by_column"_a = false);
}

template <typename T>
void bind_ranges(nb::module_& m) {
  m.def(
      "column_ranges",
      [](InMatrix<T> rows, Out<double> lowest, Out<double> highest) {
        check_some("rows", rows.shape(0));
        check_size("lowest", lowest, rows.shape(1));
        check_size("highest", highest, rows.shape(1));
        nb::gil_scoped_release release;
        column_ranges(rows.data(), rows.shape(0), rows.shape(1), lowest.data(), highest.data());
      },
      "rows"_in, "lowest"_out, "highest"_out);
}

// Kernel entries are never converted: a silent copy to float32 would cost digits.
template <typename T>
void bind_kernel_rows(nb::module_& m) {
  m.def(
      "add_rows",
      [](InMatrix<T> rows, Index slots, In<double> coefficients, Out<double> out,
         std::size_t start) {
        check_index("slots", slots, rows.shape(0));
        check_size("coefficients", coefficients, slots.shape(0));
        if (start > rows.shape(1) || out.shape(0) > rows.shape(1) - start)
          check_size("out", out, rows.shape(1) - std::min(start, rows.shape(1)));
        nb::gil_scoped_release release;
        add_rows(rows.data() + start, rows.shape(1), slots.data(), coefficients.data(),
                 slots.shape(0), out.data(), out.shape(0));
      },
      "rows"_in, "slots"_in, "coefficients"_a, "out"_out, "start"_a = 0);
  m.def(
      "gather",
      [](InMatrix<T> source, Index rows, Index columns, OutMatrix<T> out, Index to_rows,
         Index to_columns) {
        check_index("rows", rows, source.shape(0));
        check_index("columns", columns, source.shape(1));
        check_size("to_rows", to_rows, rows.shape(0));
        check_size("to_columns", to_columns, columns.shape(0));
        check_index("to_rows", to_rows, out.shape(0));
        check_index("to_columns", to_columns, out.shape(1));
        nb::gil_scoped_release release;
        gather(source.data(), source.shape(1), rows.data(), rows.shape(0), columns.data(),
               columns.shape(0), out.data(), out.shape(1), to_rows.data(), to_columns.data());
      },
      "source"_in, "rows"_in, "columns"_in, "out"_out, "to_rows"_in, "to_columns"_in);
  m.def(
      "mirror",
      [](InMatrix<T> block, OutMatrix<T> out, Index rows, Index columns) {
        check_shape("block", block, rows.shape(0), columns.shape(0));
        check_shape("out", out, out.shape(0), out.shape(0));
        check_index("rows", rows, out.shape(0));
        check_index("columns", columns, out.shape(0));
        nb::gil_scoped_release release;
        mirror(block.data(), rows.data(), rows.shape(0), columns.data(), columns.shape(0),
               out.data(), out.shape(1));
      },
      "block"_in, "out"_out, "rows"_in, "columns"_in);
}

template <typename V, typename T>
void bind_centred_rows(nb::module_& m) {
  m.def(
      "centred_rows",
      [](InMatrix<V> X, Index rows, In<double> centre, OutMatrix<T> out) {
        const std::size_t d = X.shape(1);
        check_index("rows", rows, X.shape(0));
        check_size("centre", centre, d);
        check_shape("out", out, rows.shape(0), d);
        nb::gil_scoped_release release;
        centred_rows(X.data(), d, rows.data(), rows.shape(0), centre.data(), out.data());
      },
      "X"_in, "rows"_in, "centre"_a, "out"_out);
}

// A block of entries fits where it is to be written.
template <typename T>
void check_block(const In<T>& row_squares, std::size_t n_rows, const In<T>& column_squares,
                 std::size_t n_columns, const OutMatrix<T>& out, const Index& slots,
                 std::size_t start) {
  check_size("row_squares", row_squares, n_rows);
  check_size("column_squares", column_squares, n_columns);
  check_size("slots", slots, n_rows);
  check_index("slots", slots, out.shape(0));
  if (start > out.shape(1) || n_columns > out.shape(1) - start)
    refuse("start must leave room in out for the columns");
}

template <typename T>
void bind_gaussian(nb::module_& m) {
  m.def(
      "gaussian_entries",
      [](InMatrix<T> inner, In<T> row_squares, In<T> column_squares, OutMatrix<T> out,
         Index slots, std::size_t start) {
        const std::size_t n_rows = inner.shape(0), n = inner.shape(1);
        check_block(row_squares, n_rows, column_squares, n, out, slots, start);
        nb::gil_scoped_release release;
        Watch watch;
        for (std::size_t i = 0; i < n_rows; ++i) {
          T* to = out.data() + static_cast<std::size_t>(slots.data()[i]) * out.shape(1);
          gaussian_row(inner.data() + i * n, row_squares.data()[i], column_squares.data(), n,
                       to + start);
          watch.count(4 * n);
        }
      },
      "inner"_in, "row_squares"_in, "column_squares"_in, "out"_out, "slots"_in, "start"_a);
  m.def(
      "gaussian_block",
      [](InMatrix<T> rows, In<T> row_squares, InMatrix<T> columns, In<T> column_squares,
         OutMatrix<T> out, Index slots, std::size_t start) {
        const std::size_t n_rows = rows.shape(0), n = columns.shape(0), d = rows.shape(1);
        check_shape("columns", columns, n, d);
        check_block(row_squares, n_rows, column_squares, n, out, slots, start);
        nb::gil_scoped_release release;
        each_gaussian_tile<T>({rows.data(), row_squares.data(), n_rows},
                              {columns.data(), column_squares.data(), n}, d,
                              [&](std::size_t i, std::size_t j, std::size_t count,
                                  std::size_t width, const T* entries) {
          for (std::size_t r = 0; r < count; ++r, entries += kProductColumns<T>) {
            const auto slot = static_cast<std::size_t>(slots.data()[i + r]);
            std::copy_n(entries, width, out.data() + slot * out.shape(1) + start + j);
          }
        });
      },
      "rows"_in, "row_squares"_in, "columns"_in, "column_squares"_in, "out"_out, "slots"_in,
      "start"_a);
  m.def(
      "add_gaussian",
      [](InMatrix<T> rows, In<T> row_squares, InMatrix<T> columns, In<T> column_squares,
         InMatrix<double> coefficients, OutMatrix<double> out) {
        const std::size_t n_rows = rows.shape(0), n = columns.shape(0), n_sums = out.shape(0);
        check_shape("columns", columns, n, rows.shape(1));
        check_size("row_squares", row_squares, n_rows);
        check_size("column_squares", column_squares, n);
        check_shape("coefficients", coefficients, n_sums, n_rows);
        check_shape("out", out, n_sums, n);
        nb::gil_scoped_release release;
        add_gaussian<T>({rows.data(), row_squares.data(), n_rows},
                        {columns.data(), column_squares.data(), n}, rows.shape(1),
                        coefficients.data(), n_sums, out.data());
      },
      "rows"_in, "row_squares"_in, "columns"_in, "column_squares"_in, "coefficients"_in,
      "out"_out);
  m.def(
      "add_gaussian_both",
      [](InMatrix<T> rows, In<T> row_squares, InMatrix<T> columns, In<T> column_squares,
         In<double> by_row, Out<double> column_sums, In<double> by_column, Out<double> row_sums) {
        const std::size_t n_rows = rows.shape(0), n = columns.shape(0);
        check_shape("columns", columns, n, rows.shape(1));
        check_size("row_squares", row_squares, n_rows);
        check_size("column_squares", column_squares, n);
        check_size("by_row", by_row, n_rows);
        check_size("column_sums", column_sums, n);
        check_size("by_column", by_column, n);
        check_size("row_sums", row_sums, n_rows);
        nb::gil_scoped_release release;
        add_gaussian<T>({rows.data(), row_squares.data(), n_rows},
                        {columns.data(), column_squares.data(), n}, rows.shape(1), by_row.data(),
                        1, column_sums.data(), {by_column.data(), row_sums.data()});
      },
      "rows"_in, "row_squares"_in, "columns"_in, "column_squares"_in, "by_row"_in,
      "column_sums"_out, "by_column"_in, "row_sums"_out);
}

void check_features(std::size_t stride) {
  if (stride == 0 || stride % 4 != 0 || stride > kGridFeatures)
    refuse("codes must have a multiple of 4 columns, 4 to " + std::to_string(kGridFeatures) +
           ", got " + std::to_string(stride));
}

using Codes = InMatrix<std::uint8_t>;
using Sums = In<std::uint32_t>;

GridCodes checked(const Codes& codes, const Sums& squares, const Sums& sums, double scale) {
  check_features(codes.shape(1));
  check_size("squares", squares, codes.shape(0));
  check_size("sums", sums, codes.shape(0));
  if (!(scale >= 0.0)) refuse("scale must not be below zero, got " + std::to_string(scale));
  return {codes.data(), codes.shape(1), squares.data(), sums.data()};
}

template <typename V>
void bind_grid_codes(nb::module_& m) {
  m.def(
      "grid_codes",
      [](InMatrix<V> X, In<double> lowest, double step, OutMatrix<std::uint8_t> out,
         Out<std::uint32_t> squares, Out<std::uint32_t> sums, Out<double> errors) {
        const std::size_t n = X.shape(0), d = X.shape(1), stride = grid_stride(d);
        check_features(stride);
        check_size("lowest", lowest, d);
        check_shape("out", out, n, stride);
        check_size("squares", squares, n);
        check_size("sums", sums, n);
        check_size("errors", errors, n);
        if (!(step > 0.0)) refuse("step must be above zero, got " + std::to_string(step));
        nb::gil_scoped_release release;
        Watch watch;
        for (std::size_t i = 0; i < n; ++i) {
          std::uint8_t* to = out.data() + i * stride;
          errors.data()[i] = grid_codes(X.data() + i * d, lowest.data(), step, d, to);
          std::fill(to + d, to + stride, std::uint8_t{0});
          grid_sums(to, stride, squares.data() + i, sums.data() + i);
          watch.count(d);
        }
      },
      "X"_in, "lowest"_a, "step"_a, "out"_out, "squares"_out, "sums"_out,
      "errors"_out);
}

template <typename T>
void bind_grid_entries(nb::module_& m) {
  m.def(
      "grid_entries",
      [](Codes codes, Sums squares, Sums sums, Index rows, Index columns, double scale, OutMatrix<T> out,
         Index slots, Index to) {
        const GridCodes from = checked(codes, squares, sums, scale);
        check_index("rows", rows, codes.shape(0));
        check_index("columns", columns, codes.shape(0));
        check_size("slots", slots, rows.shape(0));
        check_size("to", to, columns.shape(0));
        check_index("slots", slots, out.shape(0));
        check_index("to", to, out.shape(1));
        nb::gil_scoped_release release;
        grid_entries<T>({from, rows.data(), rows.shape(0)}, columns.data(), columns.shape(0),
                        static_cast<T>(scale), out.data(), out.shape(1), slots.data(), to.data());
      },
      "codes"_in, "squares"_in, "sums"_in, "rows"_in, "columns"_in, "scale"_a, "out"_out, "slots"_in, "to"_in);
}

template <typename T>
void bind_grid_square(nb::module_& m) {
  m.def(
      "grid_square",
      [](Codes codes, Sums squares, Sums sums, Index rows, double scale, OutMatrix<T> out,
         std::size_t first, std::size_t last) {
        const GridCodes from = checked(codes, squares, sums, scale);
        check_index("rows", rows, codes.shape(0));
        check_shape("out", out, std::max(out.shape(0), rows.shape(0)),
                    std::max(out.shape(1), rows.shape(0)));
        if (first > last || last > rows.shape(0))
          refuse("first and last must be places among the rows");
        nb::gil_scoped_release release;
        grid_square<T>({from, rows.data(), rows.shape(0)}, first, last, static_cast<T>(scale),
                       out.data(), out.shape(1));
      },
      "codes"_in, "squares"_in, "sums"_in, "rows"_in, "scale"_a, "out"_out, "first"_a, "last"_a);
}

void bind_add_grid(nb::module_& m) {
  m.def(
      "add_grid",
      [](Codes codes, Sums squares, Sums sums, Index rows, Index columns, double scale,
         InMatrix<double> coefficients, OutMatrix<double> out, bool single) {
        const GridCodes from = checked(codes, squares, sums, scale);
        const std::size_t n_sums = out.shape(0);
        check_index("rows", rows, codes.shape(0));
        check_index("columns", columns, codes.shape(0));
        check_shape("coefficients", coefficients, n_sums, rows.shape(0));
        check_shape("out", out, n_sums, columns.shape(0));
        nb::gil_scoped_release release;
        const auto add = single ? add_grid<float> : add_grid<double>;
        add({from, rows.data(), rows.shape(0)}, columns.data(), columns.shape(0), scale,
            coefficients.data(), n_sums, out.data());
      },
      "codes"_in, "squares"_in, "sums"_in, "rows"_in, "columns"_in, "scale"_a,
      "coefficients"_in, "out"_out, "single"_a);
}

}  // namespace

void bind_rows(nb::module_& m) {
  bind_csr<double, std::int32_t>(m);
  bind_csr<double, std::int64_t>(m);
  bind_csr<float, std::int32_t>(m);
  bind_csr<float, std::int64_t>(m);
  bind_memory(m);
  bind_dense(m);
  bind_gram<float>(m);
  bind_gram<double>(m);
  bind_ranges<float>(m);
  bind_ranges<double>(m);
  bind_kernel_rows<float>(m);
  bind_kernel_rows<double>(m);
  bind_centred_rows<float, float>(m);
  bind_centred_rows<float, double>(m);
  bind_centred_rows<double, float>(m);
  bind_centred_rows<double, double>(m);
  bind_gaussian<float>(m);
  bind_gaussian<double>(m);
  bind_grid_codes<float>(m);
  bind_grid_codes<double>(m);
  bind_grid_entries<float>(m);
  bind_grid_entries<double>(m);
  bind_grid_square<float>(m);
  bind_grid_square<double>(m);
  bind_add_grid(m);
  m.def("multiplies_bytes", &multiplies_bytes);
  m.def("makes_products", &makes_products);
}

}  // namespace shortlist
