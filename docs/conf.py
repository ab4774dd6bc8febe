"""The documentation site: ``python -m sphinx -W -b html docs docs/_build``.

Nothing is loaded from another host: the built site works offline.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from sphinx_gallery.sorting import ExplicitOrder

import shortlist

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from reference import write_page

project = "shortlist"
author = "the shortlist developers"
copyright = author
version = release = shortlist.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "**/GALLERY_HEADER.rst",
    "auto_examples/**/*.ipynb",
    "sg_execution_times.rst",  # pages that load scripts from elsewhere
    "**/sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = False

# -- text ------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- reference -------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# What the docstrings promise is checked in tests/docs.
numpydoc_validation_checks: set[str] = set()

# -- gallery ---------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "subsection_order": ExplicitOrder(
        ["../examples/models", "../examples/lists", "../examples/work"]
    ),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "show_signature": False,
    "plot_gallery": os.environ.get("SHORTLIST_GALLERY", "1") == "1",
}
warnings.filterwarnings("ignore", category=UserWarning, message=".*FigureCanvasAgg.*")

# -- page ------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "shortlist"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "shortlist",
        "image_light": "_static/icon.svg",
        "image_dark": "_static/icon.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"start": [], "about": []}

# MathJax with SVG output is one file and needs no fonts.
mathjax_path = "mathjax/tex-svg.js"


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise RuntimeError("Install the extra docs: sphinx-mathjax-offline is missing.")
    source = Path(found.origin).parent / "static" / "mathjax" / "tex-svg.js"
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target / source.name)


# -- pages that live elsewhere in the repository ---------------------------------------

_TITLES = {
    "kernels": "Kernels: precision at recall, time",
    "retention": "Retention order",
    "topk": "Top-k accuracy",
    "toppush": "TopPush: Table 2",
    "transductive": "Exactly k of the candidates",
    "kernel": "Speed with kernels",
    "linear": "Speed of linear models",
    "metrics": "Speed of the metrics",
    "pick": "How often the intervals of pick hold",
    "ranking": "Speed of RankSVM",
    "scale": "Blocks and clusters",
}
_BROUGHT = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}


def _bring_pages() -> None:
    """Write the reference; copy the measured results and two pages into the sources."""
    (HERE / "api").mkdir(exist_ok=True)
    write_page(HERE / "api" / "index.md")
    shutil.rmtree(HERE / "benchmarks", ignore_errors=True)
    for source in sorted((ROOT / "benchmarks").rglob("*")):
        if source.suffix in (".md", ".png") and "verdicts" not in source.parts:
            if source.name == "note.md":
                continue
            target = HERE / "benchmarks" / source.relative_to(ROOT / "benchmarks")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            if source.suffix == ".md" and not source.read_text().startswith("# "):
                title = _TITLES.get(source.stem, source.stem.capitalize())
                target.write_text(f"# {title}\n\n{source.read_text()}")
    results = sorted((HERE / "benchmarks" / "results").glob("*.md"))
    with open(HERE / "benchmarks" / "README.md", "a") as page:
        names = "\n".join(f"results/{path.stem}" for path in results)
        page.write(f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")
    for source, target in _BROUGHT.items():
        shutil.copy(ROOT / source, HERE / target)


# Now, not when the builder starts: Sphinx then knows already which pages there are.
_bring_pages()
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def _mend_links(app: Any, name: str, source: list[str]) -> None:
    """Lead links to the pages of this site; those to other files become plain text."""
    page = HERE / f"{name}.md"
    if not page.exists():
        return
    if name == "about" and not (HERE / "architecture.md").exists():
        source[0] = source[0].replace("architecture\n", "")
    lived = ROOT / {new: old for old, new in _BROUGHT.items()}.get(f"{name}.md", "")

    def mend(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        here = Path(os.path.normpath(page.parent / target))
        if here.is_file() and HERE in here.parents:
            return match[0]
        start = ROOT if lived != ROOT else page.parent
        wanted = Path(os.path.normpath(start / target))
        if ROOT in wanted.parents:
            inside = wanted.relative_to(ROOT)
            for candidate in (HERE / inside, HERE / _BROUGHT.get(str(inside), "?"), wanted):
                if HERE in candidate.parents and candidate.is_file():
                    return f"[{text}]({os.path.relpath(candidate, page.parent)}{anchor})"
        return text

    source[0] = _LINK.sub(mend, source[0])


def _skip(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents itself: its texts point into its own pages."""
    module = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None) or ""
    return True if module.startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Connect the steps above."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("source-read", _mend_links)
    app.connect("build-finished", _copy_mathjax)
