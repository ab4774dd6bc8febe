"""Small ugly files, as programs and people really write them, and what must come out.

``python -m tests.app.files.make FOLDER`` writes all of them, to look at or to try by hand.
"""

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

NAN = None


@dataclass(frozen=True)
class File:
    """A file and what must come out.

    Attributes
    ----------
    name : str
        Its name.
    content : bytes or callable
        What is in it; a function writes it to a path.
    kinds : dict
        Kind of some columns.
    values : dict
        Cells of some columns as numbers (dates in seconds since 1970); None is missing.
    notes : dict
        Words of the remarks about some columns.
    hints : tuple of str
        Words of the hints.
    error : tuple of str
        Words of the error, where the file is refused.
    distinct : dict
        Different values of some columns.
    warnings : tuple of str
        Words of the remarks about the file.
    options : tuple of str
        For ``shortlist columns``.
    """

    name: str
    content: object
    kinds: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    hints: tuple = ()
    error: tuple = ()
    distinct: dict = field(default_factory=dict)
    warnings: tuple = ()
    options: tuple = ()

    def write(self, folder):
        """Write it and return its path."""
        path = Path(folder) / self.name
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            self.content(path)
        return path


def day(text):
    """Seconds since 1970 of a moment, UTC."""
    moment = datetime.fromisoformat(text)
    return (moment - datetime(1970, 1, 1)).total_seconds()


def column(name, cells, **settings):
    """Return the bytes of a CSV file with one column besides a number."""
    lines = [f'"{cell}",{number % 3}' for number, cell in enumerate(cells)]
    return "\n".join([f"{name},n", *lines, ""]).encode(**settings)


def numbers(name, cells, values, notes=(), options=()):
    """Return a file with one column of numbers."""
    found = {} if not notes else {"x": notes}
    return File(name, column("x", cells), {"x": "number"}, {"x": values}, found, options=options)


def dates(name, cells, values, notes=(), options=()):
    """Return a file with one column of dates."""
    found = {} if not notes else {"x": notes}
    seconds = [None if value is None else day(value) for value in values]
    return File(name, column("x", cells), {"x": "date"}, {"x": seconds}, found, options=options)


def sheet(rows, more=(), hidden=()):
    """Return a function that writes an .xlsx file."""

    def write(path):
        from openpyxl import Workbook

        book = Workbook()
        for row in rows:
            book.active.append(row)
        for title in more:
            book.create_sheet(title).append(["other"])
        if hidden:
            first = book.create_sheet("Lists", 0)
            first.sheet_state = "hidden"
            for row in hidden:
                first.append(row)
        book.save(path)

    return write


def frame(columns, write, **settings):
    """Return a function that writes a pandas frame with one of its methods."""

    def make(path):
        import pandas as pd

        data = pd.DataFrame({k: v() if callable(v) else v for k, v in columns.items()})
        if "keep" in settings:
            data = data[data[settings["keep"]] > 0]
        if "index" in settings:
            data.index = pd.Index(settings["index"]())
        getattr(data, write)(path)

    return make


def categories(values):
    """Return a function that makes a column of pandas categories."""

    def make():
        import pandas as pd

        return pd.Categorical(values)

    return make


def polars(columns, write):
    """Return a function that writes a polars frame."""

    def make(path):
        import polars as pl

        getattr(pl.DataFrame(columns), write)(path)

    return make


def zipped(**members):
    """Return the bytes of an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name.replace("_", ".")), content)
    return buffer.getvalue()


PLAIN = b"a,b\n1.5,x\n2.5,y\n,x\n"
PLAIN_OUT = {"kinds": {"a": "number", "b": "category"}, "values": {"a": [1.5, 2.5, NAN]}}
GERMAN = "Betrag;Datum;Ort\n1.234,50;31.01.2020;Köln\n20,88;01.02.2020;Bonn\n;28.02.2020;Köln\n"
GERMAN_OUT = {
    "kinds": {"Betrag": "number", "Datum": "date", "Ort": "category"},
    "values": {
        "Betrag": [1234.5, 20.88, NAN],
        "Datum": [day("2020-01-31"), day("2020-02-01"), day("2020-02-28")],
    },
}

FILES = [
    # Numbers.
    numbers("thousands-comma.csv", ["1,234.50", "0.16", "12"], [1234.5, 0.16, 12]),
    numbers("thousands-point.csv", ["1.234,50", "0,16", "12"], [1234.5, 0.16, 12]),
    numbers("decimal-comma.csv", ["20,88", "3,5", "7"], [20.88, 3.5, 7]),
    numbers("millions.csv", ["1,234,567", "89", "12,345"], [1234567, 89, 12345]),
    numbers("millions-points.csv", ["1.234.567", "89", "12.345"], [1234567, 89, 12345]),
    numbers("ambiguous-comma.csv", ["1,234", "2,500"], [1234, 2500], ("1234", "decimal-comma")),
    numbers("ambiguous-said.csv", ["1,234", "2,500"], [1.234, 2.5],
            options=("--type", "x=decimal-comma")),
    numbers("ambiguous-point.csv", ["1.234", "2.500"], [1.234, 2.5], ("1.234", "decimal-comma")),
    numbers("zero-comma.csv", ["0,123", "1,234"], [0.123, 1.234]),
    numbers("currency-before.csv", ["€ 0.16", "€1,250.00", "€ 3"], [0.16, 1250, 3]),
    numbers("currency-behind.csv", ["0,16 €", "1.250,00 EUR", "3 €"], [0.16, 1250, 3]),
    numbers("two-currencies.csv", ["$5.00", "£7.50", "$9"], [5, 7.5, 9], ("$ and £",)),
    numbers("percent.csv", ["32.9 %", "5%", "100 %"], [0.329, 0.05, 1]),
    numbers("percent-comma.csv", ["32,9 %", "5,0%", "n/a"], [0.329, 0.05, NAN]),
    numbers("brackets.csv", ["(12.00)", "7.25", "(1,000.00)"], [-12, 7.25, -1000]),
    numbers("minus-behind.csv", ["12.00-", "7.25", "1,000.00-"], [-12, 7.25, -1000]),
    numbers("minus-sign.csv", ["−3.5", "4", "–2"], [-3.5, 4, -2]),
    numbers("spaces.csv", ["1 234", "12 345,5", "7"], [1234, 12345.5, 7]),
    numbers("nbsp.csv", ["1\u00a0234,5", "12\u202f345,5", "7"], [1234.5, 12345.5, 7]),
    numbers("apostrophes.csv", ["1'234.50", "12’345.00", "7.–"], [1234.5, 12345, 7]),
    numbers("india.csv", ["1,23,456.00", "12,34,567.50", "7"], [123456, 1234567.5, 7]),
    numbers("powers-comma.csv", ["1,340E+00", "2,504E-01"], [1.34, 0.2504]),
    numbers("unit.csv", ["3,5 km", "12 km", "1.200,0 km"], [3.5, 12, 1200]),
    numbers("unit-close.csv", ["41.6kg", "7kg", "n/a"], [41.6, 7, NAN]),
    numbers("unit-missing.csv", [*["3 km"] * 39, "12"], [*[3] * 39, 12],
            ("1 cell has no km and counts as if it had",)),
    File("units.csv", column("x", ["3 km", "12 m", "7 km"]), {"x": "category"},
         notes={"x": ("several units (km, m)",)}),
    File("molar.csv", column("ic50", ["12.5 nM", "3.1 µM", "800 nM"]), {"ic50": "category"},
         notes={"ic50": ("several units (nM, µM)",)}),
    numbers("thousands-of.csv", ["950", "1.2K", "3.4M", "2B"], [950, 1200, 3.4e6, 2e9]),
    numbers("millions-of.csv", ["$1.5M", "$800K", "($3k)"], [1.5e6, 8e5, -3000]),
    numbers("mio.csv", ["1,5 Mio. €", "3 Mrd €", "800 €"], [1.5e6, 3e9, 800]),
    numbers("kelvin.csv", ["300 K", "290.5 K"], [300, 290.5]),
    numbers("grams.csv", ["5g", "12.5g"], [5, 12.5]),
    numbers("accounting.csv", [" $ 1,234.50 ", " $ (12.00)", " $ -   ", "$-7.25"],
            [1234.5, -12, 0, -7.25]),
    numbers("wide-digits.csv", ["１２.５", "￥７", "３"], [12.5, 7, 3]),
    numbers("durations.csv", ["0 days 00:05:00", "1 days 01:00:00.5", "-1 days +23:55:00"],
            [300, 90000.5, -300]),
    numbers("sas-missing.csv", ["1.5", ".A", ".Z", "._", "2"], [1.5, NAN, NAN, NAN, 2]),
    File("addresses.csv", column("x", ["192.168.100.200", "192.168.101.254", "10.0.100.7"]),
         {"x": "category"}),
    numbers("clock.csv", ["00:00", "17:05", "23:59:30"], [0, 61500, 86370]),
    numbers("clock-halves.csv", ["12:00 AM", "5:05 pm", ""], [0, 61500, NAN]),
    numbers("some-percent.csv", ["5%", "0.05", "7 %"], [0.05, 0.05, 0.07], ("67 %", "not")),
    numbers("zero-with-minus.csv", ["-0", "0", "-0.0", "1"], [0, 0, 0, 1]),
    File("long-ids.csv", b"x,n\n" + b"".join(b"%d,%d\n" % (10**18 + i, i % 3) for i in range(25)),
         {"x": "category"}, notes={"x": ("17 digits and more",)}, distinct={"x": 25}),
    File("long-ids.parquet", frame({"x": [10**18 + i for i in range(25)], "n": [0, 1, 2, 0, 1] * 5},
                                   "to_parquet"),
         {"x": "category"}, notes={"x": ("17 digits and more",)}, distinct={"x": 25}),
    File("seconds.csv", b"x,n\n" + b"".join(b"%d,%d\n" % (1_700_000_000 + 60 * i, i % 3)
                                            for i in range(30)),
         {"x": "number"}, notes={"x": ("may be seconds since 1970", "--type x=date")}),
    dates("seconds-said.csv", ["1600000000", "1700000000"],
          ["2020-09-13T12:26:40", "2023-11-14T22:13:20"], options=("--type", "x=date")),
    dates("milliseconds-said.csv", ["1600000000000", "1700000000000"],
          ["2020-09-13T12:26:40", "2023-11-14T22:13:20"], options=("--type", "x=date")),
    numbers("powers.csv", ["1e-3", "2.5E+4", "inf"], [0.001, 25000, NAN], ("inf",)),
    numbers("blanks.csv", ["1", "NA", "#N/A", "NULL", "?", ".", "-", "nan", "None", " ", "2"],
            [1, *[NAN] * 9, 2]),
    numbers("sentinel.csv", ["-999", "3", "-999", "4", "7"], [-999, 3, -999, 4, 7],
            ("-999", "2 times")),
    numbers("sentinel-high.csv", ["9999", "3", "9999", "4", "7"], [9999, 3, 9999, 4, 7],
            ("9999", "2 times")),
    numbers("almost.csv", [*map(str, range(39)), "many"], [*range(39), NAN], ("1 cell is", "many")),
    File("half.csv", column("x", [*map(str, range(8)), "many", "few"]), {"x": "category"},
         notes={"x": ("80 %", "--type x=number")}),
    numbers("half-said.csv", ["1", "2", "few"], [1, 2, NAN], ("1 cell is", "few"),
            ("--type", "x=number")),
    File("zip-codes.csv", column("x", ["01234", "50667", "00731"]), {"x": "category"},
         notes={"x": ("leading zeros", "--type x=number")}),
    File("zip-said.csv", column("x", ["50667", "50668", "80331"]), {"x": "category"},
         options=("--type", "x=category")),
    File("agreed.csv", b"a;b\n1,234;20,88\n2,500;3,10\n", {"a": "number"},
         {"a": [1.234, 2.5]}, {"a": ("as in other columns",)}),
    # Dates.
    dates("iso.csv", ["2020-01-31", "2020-02-01", ""], ["2020-01-31", "2020-02-01", NAN]),
    dates("iso-time.csv", ["2020-01-31T10:00:00Z", "2020-01-31 12:00:00+02:00"],
          ["2020-01-31T10:00", "2020-01-31T10:00"]),
    dates("day-first.csv", ["31/01/2020", "01/02/2020"], ["2020-01-31", "2020-02-01"]),
    dates("month-first.csv", ["01/31/2020", "02/01/2020 3:05 PM"],
          ["2020-01-31", "2020-02-01T15:05"]),
    dates("unclear-order.csv", ["01/02/2020", "03/04/2020"], ["2020-02-01", "2020-04-03"],
          ("day first", "month-first")),
    dates("unclear-said.csv", ["01/02/2020", "03/04/2020"], ["2020-01-02", "2020-03-04"],
          options=("--type", "x=month-first")),
    dates("compact.csv", ["20200131", "20200201"], ["2020-01-31", "2020-02-01"]),
    dates("sas.csv", ["31JAN2020", "01FEB2020"], ["2020-01-31", "2020-02-01"]),
    dates("sas-time.csv", ["31JAN2020:17:05:00", "01FEB2020:00:00:01"],
          ["2020-01-31T17:05", "2020-02-01T00:00:01"]),
    dates("oracle.csv", ["31-JAN-20", "01-FEB-20"], ["2020-01-31", "2020-02-01"]),
    dates("words.csv", ["Jan 31, 2020", "February 1, 2020"], ["2020-01-31", "2020-02-01"]),
    dates("worte.csv", ["3. März 2020", "1. Dezember 2020"], ["2020-03-03", "2020-12-01"]),
    dates("weekdays.csv", ["Fri, 31 Jan 2020 10:00:00 GMT", "Sat, 01 Feb 2020 00:00:00 GMT"],
          ["2020-01-31T10:00", "2020-02-01"]),
    dates("wochentage.csv", ["Fr. 31.01.2020", "Sa. 01.02.2020"], ["2020-01-31", "2020-02-01"]),
    dates("months.csv", ["01/2020", "12/2021"], ["2020-01-01", "2021-12-01"]),
    dates("month-names.csv", ["Jan 2020", "Dec 2021"], ["2020-01-01", "2021-12-01"]),
    dates("chinese.csv", ["2020年1月31日", "2020年12月1日"], ["2020-01-31", "2020-12-01"]),
    File("layouts.csv", column("x", ["2020-01-31", "31/01/2020", "Jan 31, 2020"]),
         {"x": "category"}, notes={"x": ("dates in several layouts",)}),
    File("orders.csv", column("x", ["31/01/2020", "30/01/2020", "01/31/2020"]),
         {"x": "category"}, notes={"x": ("67 % are dates (day first)", "--type x=date")}),
    dates("never.csv", ["9999-12-31", "2020-01-31", "9999-12-31", "2020-02-01"],
          ["9999-12-31", "2020-01-31", "9999-12-31", "2020-02-01"],
          ("9999-12-31 stands 2 times", "missing values?")),
    dates("midnight.csv", ["2020-01-31 00:00:00", "2020-02-01 00:00:00"],
          ["2020-01-31", "2020-02-01"]),
    dates("short-year.csv", ["31.1.20", "1.2.99"], ["2020-01-31", "1999-02-01"]),
    # Excel in four locales, and other programs.
    File("excel-german.csv", GERMAN.encode("utf-8-sig"), **GERMAN_OUT),
    File("excel-german-sep.csv", b"sep=;\r\n" + GERMAN.replace("\n", "\r\n").encode(),
         **GERMAN_OUT),
    File("excel-french.csv",
         "montant;date;taux\n1\u202f234,50;31/01/2020;12,5 %\n20,88;01/02/2020;7 %\n"
         .encode("utf-8-sig"), {"montant": "number", "date": "date", "taux": "number"},
         {"montant": [1234.5, 20.88], "taux": [0.125, 0.07]}),
    File("excel-american.csv", b'amount,date\r\n"$1,234.50",1/31/2020\r\n$20.88,2/1/2020\r\n',
         {"amount": "number", "date": "date"},
         {"amount": [1234.5, 20.88], "date": [day("2020-01-31"), day("2020-02-01")]}),
    File("excel-swiss.csv", "betrag;datum\nCHF 1’234.50;31.01.2020\nCHF 20.–;01.02.2020\n".encode(),
         {"betrag": "number", "datum": "date"}, {"betrag": [1234.5, 20]}),
    File("excel-unicode.txt", "betrag\tort\n1,5\tKöln\n2,5\tBonn\n".encode("utf-16"),
         {"betrag": "number", "ort": "category"}, {"betrag": [1.5, 2.5]}),
    File("latin.csv", GERMAN.encode("latin-1"), options=("--encoding", "latin-1"), **GERMAN_OUT),
    File("latin-unsaid.csv", GERMAN.encode("latin-1"), error=("UTF-8", "--encoding cp1252")),
    File("utf8-after-all.csv", GERMAN.encode(), options=("--encoding", "cp1252"),
         warnings=("is UTF-8 text, and read so instead of as cp1252",), **GERMAN_OUT),
    File("euro-cp1252.csv", "x;n\n5,00 €;1\n7,50 €;2\n".encode("cp1252"), {"x": "number"},
         {"x": [5, 7.5]}, options=("--encoding", "cp1252")),
    File("utf16-unmarked.csv", GERMAN.encode("utf-16-le"), error=("--encoding utf-16-le",)),
    File("utf16-said.csv", GERMAN.encode("utf-16-le"), options=("--encoding", "utf-16-le"),
         **GERMAN_OUT),
    File("utf32.csv", GERMAN.encode("utf-32"), **GERMAN_OUT),
    File("r.csv", b'"","amount","when"\n"1",1.5,NA\n"2",NA,2020-01-31\n"3",2,2020-02-01\n',
         {"column 1": "row numbers", "amount": "number", "when": "date"},
         {"amount": [1.5, NAN, 2]}),
    File("pandas-index.csv", b",a,b\n3,1,x\n7,2,y\n9,4,x\n",
         {"column 1": "row numbers", "a": "number", "b": "category"}),
    File("r-names.csv", b'"","x"\n' + b"".join(b'"Mazda RX%d",%d\n' % (i, i % 7)
                                                for i in range(40)),
         {"column 1": "text"}, hints=('--id "column 1"',)),
    File("pandas-dates.parquet", frame({"a": [1.5, 2.5]}, "to_parquet",
                                       index=lambda: [datetime(2020, 1, 1), datetime(2020, 1, 2)]),
         {"a": "number"}, {"a": [1.5, 2.5]}, warnings=("the index of pandas has no name",)),
    File("pandas-unnamed.csv", b"Unnamed: 0,a\n0,1\n1,2\n2,4\n", {"Unnamed: 0": "row numbers"}),
    File("pandas.parquet", frame({"a": [1.5, -1.0, 2.5], "b": ["x", "y", None]}, "to_parquet",
                                 keep="a"),
         {"a": "number", "b": "category"}, {"a": [1.5, 2.5]}),
    File("pandas.feather", frame({"a": [1.5, None], "d": [datetime(2020, 1, 31), None]},
                                 "to_feather"),
         {"a": "number", "d": "date"}, {"a": [1.5, NAN], "d": [day("2020-01-31"), NAN]}),
    File("polars.parquet", polars({"a": [1, None, 3], "d": [date(2020, 1, 31), None, None],
                                   "m": [Decimal("1.50"), Decimal("2.00"), None]},
                                  "write_parquet"),
         {"a": "number", "d": "date", "m": "number"},
         {"a": [1, NAN, 3], "d": [day("2020-01-31"), NAN, NAN], "m": [1.5, 2, NAN]}),
    File("categories.feather", frame({"a": categories([7, 8, 7]), "b": [1, 2, 3]}, "to_feather"),
         {"a": "category", "b": "number"}),
    File("polars.csv", polars({"a": [1.5, None], "ok": [True, False]}, "write_csv"),
         {"a": "number", "ok": "category"}, {"a": [1.5, NAN]}),
    File("sheet.xlsx", sheet([["amount", "when", "who"], [1.5, datetime(2020, 1, 31), "x"],
                              [None, date(2020, 2, 1), "y"], ["2,50", None, "x"]]),
         {"amount": "number", "when": "date", "who": "category"},
         {"when": [day("2020-01-31"), day("2020-02-01"), NAN]}),
    File("sheets.xlsx", sheet([["a"], [1], [2]], more=("Notes",)), {"a": "number"}),
    File("title-gap.xlsx", sheet([[], ["a", None], [1, None], [2, None]]), {"a": "number"},
         {"a": [1, 2]}),
    File("hidden.xlsx", sheet([["b"], [9], [8]], hidden=[["a"], [1], [2]]), {"b": "number"},
         {"b": [9, 8]}),
    File("titled.xlsx", sheet([["Report 2020"], ["a", "b"], [1, 2]]),
         error=("'Report 2020' alone in its row", "delete what stands above")),
    File("formulas.xlsx", sheet([["a", "twice"], [1, "=A2*2"], [2, "=A3*2"]]),
         {"a": "number", "twice": "empty"},
         warnings=("column 'twice' holds formulas without results",)),
    File("times.xlsx", sheet([["at", "y"], [time(0, 0), 1], [time(17, 5), 0], [None, 1]]),
         {"at": "number"}, {"at": [0, 61500, NAN]}),
    # Packed text.
    File("packed.csv.gz", gzip.compress(PLAIN, mtime=0), **PLAIN_OUT),
    File("packed.csv.bz2", bz2.compress(PLAIN), **PLAIN_OUT),
    File("packed.csv.xz", lzma.compress(PLAIN), **PLAIN_OUT),
    File("packed.zip", zipped(rows_csv=PLAIN), **PLAIN_OUT),
    File("cut.csv.gz", gzip.compress(PLAIN * 99, mtime=0)[:30], error=("cut.csv.gz", "cannot be")),
    File("damaged.xlsx", zipped(**{"[Content]": b""})[:40], error=("damaged",)),
    File("two.zip", zipped(a_csv=PLAIN, b_csv=PLAIN), error=("archive of 2 files",)),
    # Shapes of text.
    File("newlines.csv", b'a,b\n1,"line one\nline two"\n2,"he said ""no"""\n', {"a": "number"}),
    File("bars.txt", b"a|b\n1|x\n2|y\n", {"a": "number", "b": "category"}),
    File("tabs.tsv", b"a\tb, or c\n1\tx\n2\ty\n", {"a": "number", "b, or c": "category"}),
    File("mixed.csv", column("x", ["1", "two", "2020-01-01", "TRUE", ""]), {"x": "category"}),
    File("twice.csv", b"age,age\n1,2\n", error=("more than one column", "'age'")),
    File("ragged.csv", b"a,b\n1,2\n3,4,5\n", error=("row 3 has 3 cells, the first row 2", "3,4,5")),
    File("footer.csv", b"a,b\n1,2\nTotal\n", error=("row 3 has 1 cell, the first row 2",)),
    File("title.csv", b"Report\n\na,b\n1,2\n", error=("delete what stands above them",)),
    File("no-names.csv", b"1,1,2.5\n2,4,3.5\n", error=("'1'", "is its first line one of names?")),
    File("page.xls", b"<html><table><tr><td>a</td></tr></table></html>", error=("a web page",)),
    File("records.json", b'[{"a": 1}, {"a": 2}]', error=("is JSON",)),
    File("blanks-in-names.csv", b" a , b\n1,x\n2,y\n", {"a": "number", "b": "category"}),
    File("only-names.csv", b"a,b\n", error=("no rows",)),
    File("nothing.csv", b"", error=("empty",)),
    File("constant.csv", b"a,b\n1,x\n2,x\n3,x\n", {"a": "number", "b": "constant"}),
    File("empty-column.csv", b"a,b\n1,\n2,\n3,NA\n", {"a": "number", "b": "empty"}),
    File("old-sheet.xls", b"\xd0\xcf\x11\xe0" + bytes(100), error=("save it as .xlsx or CSV",)),
    File("not.parquet", b"a,b\n1,2\n", error=("is not a Parquet file",)),
    # Hints.
    File("ids.csv", b"payment,x\n" + b"".join(b"P%d,%d\n" % (i, i % 7) for i in range(40)),
         {"payment": "text"}, hints=("--id payment",)),
    File("customers.csv", b"customer,x\n" + b"".join(b"C%d,%d\n" % (i % 31, i % 7)
                                                      for i in range(90)),
         {"customer": "text"}, hints=("customer repeats 59 times", "--group customer")),
]  # fmt: skip


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    for file in FILES:
        file.write(sys.argv[1])
    print(f"{len(FILES)} files in {sys.argv[1]}")
