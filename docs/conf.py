"""The documentation as a site: ``make docs``. Nothing is fetched, neither to build nor to read."""

import re
from pathlib import Path

project = "Detent"
author = "The Detent developers"
copyright = author
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
]
html_theme = "furo"
html_title = "Detent"
exclude_patterns = ["_build"]
templates_path: list[str] = []

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "colon_fence"]
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# equations and figures of the documents are cited as [SV97] in docstrings
# decision records are reached by their list
suppress_warnings = ["myst.xref_missing", "docutils", "toc.not_included"]

_ROOT = Path(__file__).resolve().parents[1]
_REPOSITORY = re.compile(r"\]\(\.\./([^)#]+)(#[^)]*)?\)")


def _keep_links_inside(app, name, source) -> None:
    """Links to files of the repository that are no pages become plain names."""
    source[0] = _REPOSITORY.sub(lambda found: f"] (`{found[1]}`)", source[0])


def setup(app) -> None:
    app.connect("source-read", _keep_links_inside)
