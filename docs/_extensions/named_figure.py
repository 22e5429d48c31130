"""The picture of a gallery script is the figure that it calls `figure`; its text is the script's title."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure of a block, if it made one."""
    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=130)
    plt.close("all")
    title = Path(block_vars["src_file"]).read_text(encoding="utf-8").splitlines()[1]
    return str(figure_rst([path], gallery_conf["src_dir"], title))


def _get_sg_image_scraper() -> Any:
    return scrape
