"""Sphinx settings of the site; `make docs` builds it."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]
os.environ.setdefault("MPLBACKEND", "Agg")

from linked_paths import SOURCE  # noqa: E402

import holdfast  # noqa: E402

project = "Holdfast"
author = "The Holdfast developers"
copyright = author
version = release = holdfast.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "folded_proofs",
    "generated_reference",
    "linked_paths",
    "set_formulas",
]
root_doc = "index"

# The names that Python 3.11's documentation defines, as its own objects.inv lists them: kept here, because a build
# must not depend on the network.
intersphinx_mapping = {"python": ("https://docs.python.org/3", "python.inv")}
exclude_patterns = ["_extensions", "gallery", "**/*.md5", "**/*.codeobj.json", "**/*.zip"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_allow_space = myst_dmath_allow_digits = False  # 3 $ is a price
html_math_renderer = "mathml"
myst_heading_anchors = 4
highlight_language = "text"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the Parameters sections say what each one is
maximum_signature_line_length = 90
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "image_scrapers": ("named_figure",),
    "min_reported_time": 1e9,
}

html_theme = "furo"
html_title = f"Holdfast {release}"
html_static_path = ["_static"]
html_extra_path = ["play.html"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
default_role = "code"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
source_link = {"name": "Source code", "url": SOURCE, "html": "Source code", "class": ""}
html_theme_options = {"navigation_with_keys": True, "footer_icons": [source_link]}
templates_path: list[str] = []
