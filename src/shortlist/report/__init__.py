"""The report: one HTML page that shows a shortlist and defends it.

The page is complete in itself: style, script, charts and figures are inside, a
Content-Security-Policy forbids any request, and it opens offline for as long as there
are browsers. The charts are drawn by hand as SVG, not with an inlined plotting library:
the page weighs tens of kilobytes instead of megabytes, reads without a script, follows
the reader's light or dark theme, keeps its text readable at any width and on paper, and
nothing in it ages with a dependency. The script only moves the budget: Python computes
every figure and place, the script looks them up.
"""

from ._page import write_report

__all__ = ["write_report"]
