"""Check every page of a built site with axe-core, on a phone and on a desk, light and dark, in Chromium (`browser`).

npm install axe-core
python scripts/accessibility.py build/docs node_modules/axe-core/axe.min.js
python scripts/accessibility.py build/docs node_modules/axe-core/axe.min.js index.html --print build/printed
"""

import argparse
import base64
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
SERIOUS = ("serious", "critical")
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(found => done(found.violations), error => done(String(error)));
"""


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    return driver


def faults(driver: webdriver.Chrome, axe: str, page: Path) -> Iterator[tuple[bool, str]]:
    """Each fault of a page, and whether it is serious."""
    for width in WIDTHS:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for scheme in SCHEMES:
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            driver.get(page.as_uri())
            where = f"at {width} px, {scheme}"
            wide = driver.execute_script("return document.scrollingElement.scrollWidth")
            if wide > width:
                yield True, f"{where}: the page is {wide} px wide"
            driver.execute_script(axe)
            found: Any = driver.execute_async_script(AXE)
            if isinstance(found, str):
                sys.exit(f"axe failed on {page}: {found}")
            for fault in found:
                places = [" ".join(map(str, node["target"])) for node in fault["nodes"]]
                shown = f"{where}: {fault['impact']}: {fault['help']}: {', '.join(places[:3])} ({len(places)})"
                yield fault["impact"] in SERIOUS, shown


def write_pdf(driver: webdriver.Chrome, page: Path, file: Path) -> None:
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.get(page.as_uri())
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    file.write_bytes(base64.b64decode(printed["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("pages", nargs="*", help="all by default")
    parser.add_argument("--print", type=Path, help="a folder: also write each page there as PDF, on A4")
    given = parser.parse_args()
    site = given.site.resolve()
    pages = [site / name for name in given.pages] or sorted(site.rglob("*.html"))
    axe, driver, serious = given.axe.read_text(encoding="utf-8"), browser(), 0
    try:
        for page in pages:
            name = page.relative_to(site)
            for bad, line in faults(driver, axe, page):
                serious += bad
                print(f"{name} {line}", flush=True)
            if given.print:
                given.print.mkdir(parents=True, exist_ok=True)
                write_pdf(driver, page, given.print / name.with_suffix(".pdf").as_posix().replace("/", "-"))
    finally:
        driver.quit()
    print(f"{len(pages)} pages: {serious} serious faults")
    sys.exit(bool(serious))


if __name__ == "__main__":
    main()
