"""The picture of a gallery script is the figure that it calls `figure`; its text is the script's title."""

from typing import Any

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure of a block, if it made one."""
    found = block_vars["example_globals"]
    figure = found.pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=130)
    plt.close("all")
    return str(figure_rst([path], gallery_conf["src_dir"], found["__doc__"].strip().splitlines()[0]))


def _get_sg_image_scraper() -> Any:
    return scrape
