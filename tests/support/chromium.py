"""Pages in a real browser: Debian's Chromium, driven by its own chromedriver.

Selenium rather than Playwright: Debian builds driver and browser from one source, so they always fit, whereas
Playwright supports only the Chromium it downloads itself.
"""

import base64
import json
import os
import re
import shutil
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
MISSING = "needs selenium, Chromium and its driver (Debian: apt-get install chromium chromium-driver)"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,900",
)


AXE = """
const done = arguments[arguments.length - 1];
axe.run({resultTypes: ["violations"]}).then((found) => done(found.violations.map(
    (one) => `${one.impact} ${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`)));
"""


class Browser:
    """One browser for all tests: `open` gives a page as a reader sees it whose browser remembers `storage` alone."""

    looking_at: tuple[Path | str, int] | None = None

    def __init__(self, profile: Path) -> None:
        if not (CHROMIUM and DRIVER and find_spec("selenium")):
            if os.environ.get("CI"):
                pytest.fail(MISSING)
            pytest.skip(MISSING)
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))

    def open(
        self, path: Path | str, *, width: int = 0, dark: bool = False, storage: dict[str, str] | None = None
    ) -> None:
        """Show a file, or what is at an address."""
        self.leave()  # a link inside the page would not load it anew
        self.media(dark=dark)
        if width:
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        else:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        # Before the page's own script runs: what an earlier page stored reaches the next one late on a busy machine.
        remember = f"localStorage.clear(); Object.assign(localStorage, {json.dumps(storage or {})})"
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": remember})
        self.driver.get(path if isinstance(path, str) else path.as_uri())
        self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)

    def look(self, path: Path, *, width: int = 0) -> None:
        """As `open`, for tests that change nothing on the page: one that the last test left so is not loaded again."""
        if self.looking_at != (path, width):
            self.open(path, width=width)
            self.looking_at = (path, width)
        self.run("scrollTo({top: 0, behavior: 'instant'})")

    def leave(self) -> None:
        """Show nothing: a page complains when its server stops."""
        self.looking_at = None
        self.driver.get("about:blank")

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        shown = {"media": "print" if printed else "", "features": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", shown)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def visible(self, selector: str) -> list[Any]:
        return [element for element in self.all(selector) if element.is_displayed()]

    def until(self, check: Any, what: str) -> None:
        """Poll for a minute: drawing is not immediate, least of all on a busy machine."""
        deadline = time.monotonic() + 60
        while not check():
            assert time.monotonic() < deadline, what
            time.sleep(0.05)

    def panels(self, chart: str, read: str) -> list[Any]:
        """`read`, a JavaScript expression in `plot`, for every panel of a chart, each drawn by coming into sight."""
        drawn, values = "return !!arguments[0].querySelector('canvas')", []
        for plot in reversed(self.all(f"{chart} .plot")):
            self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
            self.until(lambda plot=plot: self.run(drawn, plot), f"a panel of {chart} is not drawn")
            values.append(self.run(f"const plot = arguments[0]; return {read}", plot))
        return values[::-1]

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return self.run(wide)

    def is_cut_unsaid(self) -> bool:
        """True where a table is wider than its box and no hint says so, or one does without need."""
        return self.run(
            "return [...document.querySelectorAll('.box')].some(box => "
            "(box.scrollWidth > box.clientWidth + 1) !== box.previousElementSibling.checkVisibility())"
        )

    def faults(self) -> list[str]:
        """What Deque's axe-core has against the page: rules for screen readers, contrast and the like."""
        axe = pytest.importorskip("axe_core_python")
        self.run((Path(axe.__file__).parent / "axe.min.js").read_text())
        return self.driver.execute_async_script(AXE)

    def complaints(self) -> list[Any]:
        """What is new in the console, but for notes on rendering: a slow page is told that autofocus was late."""
        return [one for one in self.driver.get_log("browser") if (one["level"], one["source"]) != ("INFO", "rendering")]

    def printed(self) -> bytes:
        """The page as PDF, on A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69}
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", paper)["data"])

    def close(self) -> None:
        self.driver.quit()


def pdf_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
