"""Sphinx: `make docs` builds these pages, runs the gallery, and takes warnings for errors."""

from __future__ import annotations

import os
import re
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")

import sparrot

project = "sparrot"
author = "the sparrot authors"
version = release = sparrot.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # formulas without a network
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "**sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "py:obj"  # backticks of docstrings: a link where there is something to link to
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# qot and QOT are one file where the file system does not tell capitals apart.
autosummary_filename_map = {
    f"sparrot.{name}": f"sparrot.{name}_estimator"
    for name in ("EOT", "KNN", "MAGIC", "QOT", "Epanechnikov", "Gaussian", "Tsallis")
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "doc_module": ("sparrot",),
    "reference_url": {"sparrot": None},
    "backreferences_dir": "api/used",
    "min_reported_time": 1e6,
    "show_signature": False,
    "capture_repr": (),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "sparrot"
html_static_path = ["_static"]
html_css_files = ["sparrot.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 4,  # with the search in one line
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {
    page: []
    for page in ("index", "quick_start", "benchmarks", "paper", "real_data", "contributing")
}
copyright = "the sparrot authors. BSD-3-Clause"

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Warns|Other Parameters)$")
_ENTRY = re.compile(r"^(\*{0,2}\w[\w, ]*) : (.*)$")
_LONG_NAMES = re.compile(r"^(\w[\w, ]*,)\n(?=\w[\w, ]* : )", re.MULTILINE)


def describe(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Entries of our docstrings say what a parameter is, not its type: `eps : how much ...`.

    Numpydoc would take the first line of that for a type; so put it into the description. Names may
    take two lines.
    """
    lines[:] = _LONG_NAMES.sub(r"\1 ", "\n".join(lines)).split("\n")
    section, out = "", []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            section = line if _SECTION.match(line) else ""
        described = section in ("Parameters", "Attributes", "Raises", "Warns")
        entry = _ENTRY.match(line) if described else None
        if entry:
            out += [entry[1], f"    {entry[2]}"]
        elif section == "Returns" and _continues(out, line):
            out[-1] += f" {line}"
        else:
            out.append(line)
    lines[:] = out


def _continues(before: list[str], line: str) -> bool:
    """Is this the second line of a sentence that says what is returned?"""
    return bool(
        before
        and line
        and before[-1]
        and not line.startswith((" ", "-"))
        and not before[-1].startswith((" ", "-"))
        and before[-1] != "Returns"
    )


def is_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what estimators and errors inherit from elsewhere."""
    home = getattr(obj, "__module__", None) or "sparrot"
    return skip or not home.startswith("sparrot")


def setup(app: Any) -> None:
    """Go before numpydoc."""
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-docstring", describe, priority=100)
