"""The page in a real browser, served by a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from chromium import Browser
from service import GAME, InThread, Web

import holdfast as hf
from holdfast.service.operations import Refused

pytestmark = pytest.mark.slow

NAME = "<script>alert(1)</script> & co/1"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Web]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/games.db"
    for name, arms in ((NAME, ["<b>a</b>", "b"]), ("chat", ["model-a", "model-b", "model-c"])):
        with hf.open(url, name, hf.AdaptiveTsallisSwitch(arms=arms, switching_cost=0.3), seed=3) as router:
            for t in range(40):
                router.tell([(d.id, (i * 7 + t) % 10 / 10) for i, d in enumerate(router.ask(5))])
    ruled = hf.AdaptiveTsallisSwitch(arms=["east", "west"], switching_cost=0.3)
    with hf.open(url, "ruled", ruled, seed=3, holdback=0.3) as router:
        for t in range(40):
            router.tell(router.ask(rule="west").id, t % 10 / 10)
    with hf.open(url, "seen", hf.AdaptiveHedgeSwitch(arms=["east", "west"], switching_cost=0.3), seed=3) as router:
        for t in range(400):
            router.tell(router.ask().id, losses=[t % 10 / 10, 0.6])
    with hf.open(url, "silent", hf.Exp3(arms=["east", "west"]), seed=1) as router:
        router.ask(30)
    with hf.open(url, "stuck", hf.BlockExp3(arms=["x", "y"], switching_cost=1000.0, horizon=100_000), seed=1) as router:
        router.tell([(d.id, 0.25) for d in router.ask(300)])
    with InThread(url) as web:
        yield web
        chromium.leave()


def show(browser: Browser, web: Web, path: str, **options: Any) -> None:
    browser.open(web.url + path, **options)


@pytest.fixture
def keys() -> Any:
    from selenium.webdriver.common.keys import Keys

    return Keys


def drawn(browser: Browser) -> bool:
    return len(browser.all(".chart canvas")) == 2


def heading(browser: Browser) -> str:
    """Asked of the page, which may be going to another one just now."""
    return browser.run("return document.querySelector('h1')?.textContent ?? ''")


def figure(browser: Browser, term: str) -> str:
    script = "return [...document.querySelectorAll('.figures dt')].find(t => t.textContent === arguments[0])"
    return browser.run(f"{script}.nextElementSibling.textContent", term)


def assert_not_found(browser: Browser) -> None:
    """The browser has complained of a page that there is not, and of nothing else."""
    (found,) = browser.complaints()
    assert "404 (Not Found)" in found["message"]


def test_the_list_shows_every_game_and_what_is_wrong(browser, served):
    show(browser, served, "/")
    assert [link.text for link in browser.all(".list tbody th a")] == [
        NAME, "chat", "ruled", "seen", "silent", "stuck",
    ]  # fmt: skip
    always, wrong = "only x was ever played, in 300 rounds", "the last 300 losses are all 0.25"
    found = [words.text for words in browser.all(".warning")]
    assert found in (["no loss was ever reported", wrong, always.replace("x", arm)] for arm in "xy")
    browser.all(".list tbody th a")[0].click()
    browser.until(lambda: drawn(browser), "the charts are not drawn")
    assert browser.all("h1")[0].text == NAME


def test_each_line_of_costs_has_its_name(browser, served):
    """The bound is drawn as far as it does not flatten the others: in a game of 400 rounds all of it for `seen`."""
    for name, extra in (("chat", ["proved bound"]), ("ruled", ["your rule"]), ("seen", ["best plan", "proved bound"])):
        show(browser, served, f"/games/{name}")
        browser.until(lambda: drawn(browser), "the charts are not drawn")
        labels = [one.text for one in browser.all("#cost .key")]
        only = [f"only {arm}" for arm in served("GET", f"/v1/games/{name}").json["arms"]]
        assert labels == ["paid", *only, *extra]
    caption = browser.all("#cost-caption")[0].text
    assert "Dotted: the best plan in hindsight." in caption
    page = "docs/theory/full_information.md"
    assert f"(Theorem H3 of {page}; for losses that come before the next block begins)" in caption
    show(browser, served, "/games/chat")
    assert "Proved bound, now " in browser.all("#cost-caption")[0].text


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_a_game_fits_any_width_in_both_schemes(browser, served, width, dark):
    for path in ("/", "/games/chat", "/login"):
        show(browser, served, path, width=width, dark=dark)
        if "games" in path:
            browser.until(lambda: drawn(browser), "the charts are not drawn")
        assert browser.overflow() <= 0, path
        ground = browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(21, 23, 26)") is dark


def test_what_happens_is_shown_while_it_happens_and_does_not_fill_the_browser(browser, served):
    show(browser, served, "/games/chat")
    browser.until(lambda: browser.all("#live-state")[0].text == "live", "the page is not live")
    browser.until(lambda: drawn(browser), "the charts are not drawn")
    before = int(figure(browser, "rounds").replace(",", ""))
    for rounds in (before + 2, before + 4, before + 11):
        served("POST", "/v1/games/chat/decisions", {"n": rounds - int(figure(browser, "rounds").replace(",", ""))})
        browser.until(lambda now=f"{rounds:,}": figure(browser, "rounds") == now, "the page does not follow")
    assert browser.run("return performance.memory.usedJSHeapSize") < 200e6
    assert drawn(browser)
    assert browser.run("return document.querySelectorAll('.uplot').length") == 2


def test_a_page_is_live_again_after_a_proxy_has_refused_its_stream(browser, tmp_path, monkeypatch):
    """A restart answers with 502, after which browsers do not try again by themselves."""
    app = InThread(f"sqlite:///{tmp_path}/games.db")
    with app as web:
        web("PUT", "/v1/games/g", GAME)
        show(browser, web, "/games/g")
        state = "return document.getElementById('live-state').textContent"
        browser.until(lambda: browser.run(state) == "live", "the page is not live")
        with monkeypatch.context() as patched:

            async def refused(name):
                raise Refused(503, "for a moment")

            patched.setattr(app.service, "standing", refused)
            browser.until(lambda: browser.run(state) == "not connected", "the page does not notice")
            closed = "503 (Service Unavailable)"
            browser.until(lambda: closed in str(browser.complaints()), "the stream is not tried again")
        web("POST", "/v1/games/g/decisions", {"n": 7})
        browser.until(lambda: figure(browser, "rounds") == "7", "the page does not follow")
        assert browser.run(state) == "live"
        browser.leave()
    assert all(closed in one["message"] for one in browser.complaints())


def test_long_names_fit_a_phone(browser, tmp_path):
    """Long names of games, arms, conversations and reasons, without a place to break them."""
    name, arms, reason = "n" * 200, ["a" * 190, "b" * 190], "r" * 150
    with InThread(f"sqlite:///{tmp_path}/games.db") as web:
        game = f"/v1/games/{name}"
        assert web("PUT", game, {"policy": "adaptive", "arms": arms, "switching_cost": 0.3}).status == 201
        web("POST", f"{game}/decisions", {"n": 40, "key": "k" * 200})
        web("POST", f"{game}/decisions", {"n": 40})
        assert web("PATCH", game, {"pause": arms[0], "reason": reason}).status == 200
        assert web("PATCH", game, {"switching_cost": 0.5, "add_arms": ["c" * 190], "reason": reason}).status == 200
        for path in ("/", f"/games/{name}", f"/games/{name}/changes", f"/games/{'x' * 200}"):
            show(browser, web, path, width=390)
            assert browser.overflow() <= 0, path
        assert_not_found(browser)
        show(browser, web, f"/games/{name}", width=390)
        browser.until(lambda: drawn(browser), "the charts are not drawn")
        assert browser.overflow() <= 0
        tops = "return [...document.querySelectorAll('.chart')].map((e) => e.getBoundingClientRect())"
        (_, cost), (drawn_at, _) = [(one["top"], one["bottom"]) for one in browser.run(tops)]
        legend = browser.run("return document.querySelector('#cost .legend').getBoundingClientRect().bottom")
        assert legend <= cost < drawn_at
        browser.all("form.change input[name=reason]")[1].send_keys(reason)
        browser.run("document.querySelectorAll('form.change')[1].submit()")
        browser.until(lambda: "?" in heading(browser), "there is no question")
        assert browser.overflow() <= 0
        browser.leave()


def test_the_scheme_is_changed_and_remembered(browser, served):
    show(browser, served, "/games/chat")
    browser.all("#theme")[0].click()
    assert browser.run("return document.documentElement.dataset.theme") == "dark"
    assert browser.all("#theme")[0].text == "Light scheme"
    browser.driver.get(f"{served.url}/")
    assert browser.run("return document.documentElement.dataset.theme") == "dark"


def test_the_switching_cost_is_changed_by_keyboard_after_a_question(browser, served, keys):
    show(browser, served, "/games/chat")
    cost, reason = browser.all("input[name=cost]")[0], browser.all("input[name=reason]")[0]
    cost.clear()
    cost.send_keys("0.45")
    reason.send_keys("night rates" + keys.ENTER)
    browser.until(lambda: "?" in heading(browser), "there is no question")
    assert heading(browser) == "Change λ of chat from 0.3 to 0.45?"
    assert served("GET", "/v1/games/chat").json["policy"]["switching_cost"] == 0.3
    browser.driver.switch_to.active_element.send_keys(keys.ENTER)
    browser.until(lambda: browser.all(".why"), "the game is not shown again")
    assert served("GET", "/v1/games/chat").json["policy"]["switching_cost"] == 0.45
    assert served("GET", "/v1/games/chat/changes").json["changes"][-1]["reason"] == "night rates"


def test_an_arm_is_paused_and_resumed_after_a_question(browser, served, keys):
    from selenium.webdriver.support.select import Select

    def change(act: str, arm: str, until: str) -> str:
        form = browser.all("form.change")[1]
        Select(form.find_element("name", "act")).select_by_value(act)
        Select(form.find_element("name", "arm")).select_by_value(arm)
        form.find_element("name", "until").send_keys(until)
        form.find_element("name", "reason").send_keys("times out" + keys.ENTER)
        browser.until(lambda: "?" in heading(browser), "there is no question")
        question = heading(browser)
        browser.all(".action")[0].click()
        browser.until(lambda: browser.all("#stands"), "the game is not shown again")
        return question

    show(browser, served, "/games/chat")
    assert change("pause", "model-b", "2h") == "Pause model-b of chat for 2h?"
    assert "model-b is paused until 20" in browser.all("#stands")[0].text
    assert [one["arm"] for one in served("GET", "/v1/games/chat").json["paused"]] == ["model-b"]
    assert change("resume", "model-b", "") == "Resume model-b of chat?"
    assert browser.all("#stands")[0].text == "No arm is paused or pinned."
    assert served("GET", "/v1/games/chat/changes").json["changes"][-1]["kind"] == "resume"


def test_a_long_warning_breaks_no_words(browser, served):
    id = served("POST", "/v1/games/chat/decisions").json["decisions"][0]["id"]
    served("PUT", f"/v1/games/chat/decisions/{id}/loss", {"loss": 7.5})
    show(browser, served, "/", width=1280)
    lines = """return [...document.querySelectorAll(".list thead th, .list td span")].filter(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return range.getClientRects().length > 1 && !cell.textContent.includes(" ");
    }).map(cell => cell.textContent)"""
    assert browser.run(lines) == []
    assert browser.overflow() <= 0


def test_the_first_tab_skips_to_the_content(browser, served, keys):
    show(browser, served, "/games/chat")
    browser.driver.switch_to.active_element.send_keys(keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Skip to content"


def test_each_image_has_words_and_each_field_a_label(browser, served):
    show(browser, served, "/games/chat")
    assert browser.run("return [...document.querySelectorAll('[role=img]')].every(e => e.ariaLabel)")
    assert browser.run("return [...document.querySelectorAll('input, select')].every(e => e.labels.length === 1)")
    assert browser.run("return document.querySelectorAll('h1').length") == 1
    assert browser.run("return [...document.querySelectorAll('[style]')].every(e => e.closest('.uplot, .key'))")


def test_a_game_with_a_rule_is_compared_with_it(browser, served):
    show(browser, served, "/games/ruled")
    link = next(a for a in browser.all("a") if a.text == "What does the policy save next to your rule?")
    browser.run("arguments[0].click()", link)  # wherever the page has scrolled to
    browser.until(lambda: "next to your rule" in heading(browser), "the comparison is not shown")
    with hf.open(served.url, "ruled") as router:
        assert browser.all(".why")[0].text == f"The policy: {router.history.compare().words()}."
    assert b"next to your rule" not in served("GET", "/games/chat").body
    assert served("GET", "/games/chat/compare").status == 422


@pytest.mark.parametrize(("path", "width", "dark"), [
    ("/", 1280, False), ("/", 390, True), ("/games/chat", 1280, True), ("/games/chat", 390, False),
    ("/games/seen", 1280, False), ("/games/ruled/compare", 390, True), ("/games/nothing", 1280, True),
    ("/login", 390, False),
])  # fmt: skip
def test_axe_finds_nothing_wrong(browser, served, path, width, dark):
    show(browser, served, path, width=width, dark=dark)
    if path in ("/games/chat", "/games/seen"):
        browser.until(lambda: drawn(browser), "the charts are not drawn")
    assert browser.faults() == []
    if path == "/games/nothing":
        assert_not_found(browser)
