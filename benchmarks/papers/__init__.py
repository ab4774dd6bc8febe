"""The tables and figures of the five papers again, on the same public data.

    python -m benchmarks.papers LIST              one table; --help names them all
    python -m benchmarks.papers LIST --quick      a tiny version in seconds, no data needed
    python -m benchmarks.papers render            pages and plots from the finished cells

Every finished cell is appended to a CSV file under ``benchmarks/results/raw``; a rerun
skips it. Seeds are fixed, times are CPU seconds of one thread. Data come from the folder
named by ``SHORTLIST_DATA``.
"""
