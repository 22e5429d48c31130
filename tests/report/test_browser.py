"""The report in a real browser: Debian's Chromium, driven by its own chromedriver.

Selenium rather than Playwright: Debian builds driver and browser from one source, so they always fit, whereas
Playwright supports only the Chromium it downloads itself.
"""

import os
import shutil
import time
from importlib.util import find_spec

import pytest

from holdfast.report import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
MISSING = "needs selenium, Chromium and its driver (Debian: apt-get install chromium chromium-driver)"

POLICIES = 6
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


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    if not (CHROMIUM and DRIVER and find_spec("selenium")):
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(figures, verdicts, provenance, tmp_path_factory):
    return write_report(figures, verdicts, provenance, tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture
def page(driver, address):
    """The page freshly opened, wide and light; at the end of each test the console must be empty."""
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": _scheme("light")})
    driver.get(address)
    driver.execute_script("localStorage.clear()")
    driver.get(address)
    yield driver
    assert driver.get_log("browser") == []


def _scheme(name):
    return [{"name": "prefers-color-scheme", "value": name}]


def until(check, what):
    """Poll for ten seconds: drawing is not immediate."""
    deadline = time.monotonic() + 10
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def all_of(page, selector):
    return page.find_elements("css selector", selector)


def panels(page, figure, read):
    """`read`, a JavaScript expression in `plot`, for every panel of a figure, each drawn by coming into sight."""
    drawn = "return !!arguments[0].querySelector('.main-svg')"
    values = []
    for plot in reversed(all_of(page, f'[data-figure="{figure}"] .plot')):
        page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
        until(lambda plot=plot: page.execute_script(drawn, plot), f"a panel of figure {figure} is not drawn")
        values.append(page.execute_script(f"const plot = arguments[0]; return {read}", plot))
    return values[::-1]


LINES = "plot.data.filter(trace => trace.name).map(trace => trace.name)"


def test_every_figure_is_drawn(page, figures):
    for index, figure in enumerate(figures):
        shown = panels(page, index, LINES)
        assert len(shown) == 3 * len(figure.rows)
        for names in shown:
            assert len(names) == figure.rows[0].frame["policy"].n_unique()
    svgs = page.execute_script(
        "return [...document.querySelectorAll('img.static')].map(img => [img.complete, img.naturalWidth])"
    )
    assert len(svgs) == len(figures)
    assert all(complete and width > 500 for complete, width in svgs)


def test_hover_shows_all_policies(page):
    from selenium.webdriver.common.action_chains import ActionChains

    panels(page, 0, "1")
    for plot in all_of(page, '[data-figure="0"] .plot'):
        ActionChains(page).move_to_element(plot).perform()
        layer = plot.find_element("css selector", ".hoverlayer")
        until(lambda layer=layer: "round" in layer.text, "no hover")
        lines = layer.text.splitlines()
        assert len(lines) == 1 + POLICIES
        assert lines[1].startswith("tsallis-switch : ")
        assert all(" ± " in line for line in lines[1:])
        ActionChains(page).move_by_offset(0, -300).perform()


def test_one_click_toggles_a_policy_in_all_panels(page):
    before = panels(page, 1, LINES)
    key = all_of(page, '[data-figure="1"] .key')[2]
    assert key.text == "exp3"
    key.click()
    assert key.get_attribute("aria-pressed") == "false"
    assert panels(page, 1, LINES) == [[name for name in names if name != "exp3"] for names in before]
    assert len(before) == 6
    key.click()
    assert key.get_attribute("aria-pressed") == "true"
    assert panels(page, 1, LINES) == before


def test_all_policies_can_be_hidden(page):
    panels(page, 0, "1")
    for scale in all_of(page, '[data-figure="0"] [data-scale="log"]'):
        scale.click()
    for key in all_of(page, '[data-figure="0"] .key'):
        key.click()
    assert panels(page, 0, LINES) == [[], [], []]


def test_scale_buttons(page):
    types = "[plot._fullLayout.xaxis.type, plot._fullLayout.yaxis.type]"
    captions = "plot.parentElement.querySelector('.scale').textContent"

    def press(axis, scale):
        all_of(page, f'[data-figure="0"] [data-axis="{axis}"] [data-scale="{scale}"]')[0].click()

    # The hundredfold spread of the switches makes its panel logarithmic from the start.
    assert panels(page, 0, types) == [["linear", "linear"], ["linear", "log"], ["linear", "log"]]
    assert panels(page, 0, captions) == ["", "(log scale)", "(log scale)"]
    press("y", "log")
    press("x", "log")
    assert panels(page, 0, types) == [["log", "log"]] * 3
    press("y", "linear")
    assert panels(page, 0, types) == [["log", "linear"]] * 3
    press("x", "linear")
    press("y", "auto")
    assert panels(page, 0, types) == [["linear", "linear"], ["linear", "log"], ["linear", "log"]]


def test_ledger_filter(page, verdicts):
    def shown():
        return [row.get_attribute("data-verdict") for row in all_of(page, ".ledger tbody tr") if row.is_displayed()]

    assert len(shown()) == len(verdicts) == 20
    for kind, count in (("fails", 2), ("conditional", 2), ("holds", 16)):
        button = all_of(page, f'[data-show="{kind}"]')[0]
        button.click()
        assert shown() == [kind] * count
        assert button.get_attribute("aria-pressed") == "true"
    all_of(page, '[data-show="all"]')[0].click()
    assert len(shown()) == 20


COLOURS = "[getComputedStyle(document.body).backgroundColor, plot._fullLayout.font.color, plot.data.at(-1).line.color]"


def test_dark_by_button_outlives_a_reload(page, address):
    light = panels(page, 0, COLOURS)[0]
    toggle = all_of(page, "#theme")[0]
    assert toggle.text == "Dark scheme"
    toggle.click()
    dark = panels(page, 0, COLOURS)[0]
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.get(address)
    assert panels(page, 0, COLOURS)[0] == dark
    all_of(page, "#theme")[0].click()
    assert panels(page, 0, COLOURS)[0] == light


def test_dark_follows_the_system(page):
    light = panels(page, 0, COLOURS)[0]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": _scheme("dark")})
    until(lambda: panels(page, 0, COLOURS)[0][2] != light[2], "curves did not follow")
    assert all(one != other for one, other in zip(light, panels(page, 0, COLOURS)[0], strict=True))


@pytest.mark.parametrize("width", [320, 390, 768, 1440])
def test_no_sideways_scrolling(page, figures, width):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for index in range(len(figures)):
        panels(page, index, "1")
    # A phone widens its window to what overflows, a desktop does not.
    assert page.execute_script("return window.innerWidth") == width
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_print_shows_the_drawn_figures(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert all(img.is_displayed() for img in all_of(page, "img.static"))
    for hidden in (".controls", ".row", ".filter", ".contents", "#theme"):
        assert not any(element.is_displayed() for element in all_of(page, hidden)), hidden
