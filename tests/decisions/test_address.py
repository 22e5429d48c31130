"""Store URLs: read as libpq reads them, and no password in anything that is shown."""

import pickle
import traceback
from functools import cache
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given, settings, strategies as st

import holdfast as hf
from holdfast.decisions.stores import parse_address
from holdfast.errors import printable

MARK = "hunter2"
"""Part of every password here: it must be in nothing that is shown."""

UNDERSTOOD = {
    f"postgresql://me:{MARK}@db/games": "postgresql://me@db/games",
    f"postgres://me:{MARK}@db:5433/games": "postgresql://me@db:5433/games",
    f"postgresql://me:a#{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me:a?{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me:a[{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me:a:{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me:a%2F{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me:a%40{MARK}@db/games": "postgresql://me@db/games",
    f"postgresql://me@db/games?password={MARK}": "postgresql://me@db/games",
    f"postgresql://db/games?user=me&password={MARK}": "postgresql://me@db/games",
    f"postgresql://db/games?sslmode=require&sslpassword={MARK}": "postgresql://db/games",
    f"postgresql://:{MARK}@db/games": "postgresql://db/games",
    f"postgresql://me:{MARK}@[::1]:5432/games": "postgresql://me@[::1]:5432/games",
    f"postgresql://me:{MARK}@a:1,b:2/games": "postgresql://me@a:1,b:2/games",
    f"postgresql://me:{MARK}@a,b/games?port=5": "postgresql://me@a:5,b:5/games",
    f"postgresql:///games?host=/run/pg&password={MARK}": "postgresql:///games?host=/run/pg",
    f"postgresql://me%40tenant:{MARK}@db/a%20b%1B": "postgresql://me%40tenant@db/a%20b%1B",
    "postgresql://": "postgresql:///",
    "sqlite:///games.db": "sqlite:///games.db",
    "sqlite:////var/lib/é b.db": "sqlite:////var/lib/é b.db",
    "sqlite:///a\x1b[31m\n.db": "sqlite:///a\\x1b[31m\\n.db",
    "sqlite:///\ud800.db": "sqlite:///\\ud800.db",
    "memory:": "memory:",
}

REFUSED = (
    f"postgresql://me:a/{MARK}@db/games",
    f"postgresql://me:12/{MARK}@db/games",
    f"postgresql://me:a@{MARK}@db/games",
    f"postgresql://me:a@b/{MARK}@db/games",
    f"postgresql://me:a?b/{MARK}@db/games",
    f"postgresql://me:a\0{MARK}@db/games",
    f"postgresql://me:a\ud800{MARK}@db/games",
    f"postgresql://me:a%{MARK}@db/games",
    f"postgresql://me:a%zz{MARK}@db/games",
    f"postgresql://me:{MARK}/games",
    f"postgresql://db?user=me&password={MARK}@x",
    f"postgresql://me:a@b/c?user={MARK}@db/games",
    f"postgresql://me:{MARK}@db/games?nope=1",
    f"postgresql://db/games?passwrd={MARK}",
    f"postgresql://db/games?dbname=host%3Dx%20password%3D{MARK}",
    f"postgresql+psycopg://me:{MARK}@db/games",
    f"postgresql+asyncpg://me:{MARK}@db/games",
    f"postgrsql://me:{MARK}@db/games",
    f"postgresql:/me:{MARK}@db/games",
    f"POSTGRESQL://me:{MARK}@db/games",
    f" postgresql://me:{MARK}@db/games",
    f"\npostgresql://me:{MARK}@db/games",
    f"mysql://me:{MARK}@db/games",
    f"host=db user=me password={MARK}",
    f"host=db password='{MARK}'",
    f"sqlite://{MARK}",
    f"sqlite:///file?key={MARK}",
    f"sqlite:///postgresql://me:{MARK}@db/games",
    f"[{MARK}",
    f"http://[{MARK}",
    MARK,
    "",
    "memory",
    "sqlite:///",
)


@pytest.mark.parametrize("url", UNDERSTOOD)
def test_what_is_shown_of_an_address(url):
    address = parse_address(url)
    assert address.shown == UNDERSTOOD[url]
    assert MARK not in repr(address)
    assert address.shown.isprintable()
    if address.kind == "postgresql":
        assert {**address.conninfo} == psycopg.conninfo.conninfo_to_dict(url)
        assert parse_address(address.shown).shown == address.shown


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_is_not_understood_is_not_repeated(url):
    with pytest.raises(hf.InvalidParameter, match=r"^url must be .*; got an address that is not shown") as raised:
        parse_address(url)
    error = raised.value
    told = [str(error), repr(error), repr(error.args), *traceback.format_exception(error), repr(vars(error))]
    assert MARK not in "".join(told)
    assert MARK.encode() not in pickle.dumps(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(hf.InvalidParameter) as opened:
        hf.open(url, "game", hf.Exp3(2))
    assert MARK not in "".join(traceback.format_exception(opened.value))


@pytest.mark.parametrize("url", [None, 3, b"sqlite:///x", f"x{MARK}".encode()])
def test_what_is_no_text_is_no_address(url):
    with pytest.raises(hf.InvalidParameter, match=r"^url must be 'memory:'") as raised:
        parse_address(url)
    assert MARK not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgresql+psycopg://u@h/d", "'postgresql://'?"),
        ("postgrse://u@h/d", "'postgres://'?"),
        (" sqlite:///x", "'sqlite:///'?"),
        ("sqlite:x.db", "'sqlite:///'?"),
        ("sqlite://router.db", "'sqlite:///router.db'?"),
    ],
)
def test_the_nearest_scheme_is_named(url, meant):
    with pytest.raises(hf.InvalidParameter, match="did you mean") as raised:
        parse_address(url)
    assert str(raised.value).endswith(meant)


@pytest.mark.parametrize("file", ["router.db", "/var/lib/my games.sqlite3", "data/é.sqlite"])
def test_a_file_without_its_scheme_is_shown_with_it(file):
    with pytest.raises(hf.InvalidParameter, match=r"'http://host:port'; got") as raised:
        hf.open(file, "chat", hf.Exp3(2))
    assert str(raised.value).endswith(f"; got {file!r}; did you mean 'sqlite:///{file}'?")


@pytest.mark.parametrize("url", ["password=x.db", "me:x.db", "x@y.db", "x.y", "x.db\n", "?x.db"])
def test_what_may_hold_a_password_is_not_taken_for_a_file(url):
    with pytest.raises(hf.InvalidParameter, match="an address that is not shown here"):
        parse_address(url)


def test_only_one_game_is_opened_at_a_server():
    with pytest.raises(hf.InvalidParameter, match=r"only holdfast\.open takes the address of a server; got an address"):
        hf.open_many("http://localhost:8080", {"chat": hf.Exp3(2)})


PASSWORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12).map(lambda text: text + MARK)
SIGNS = st.text("#?/[]@:%=&+, \0\n'\\", max_size=6)


@given(PASSWORDS)
def test_an_escaped_password_is_read_exactly_and_never_shown(password):
    if "\0" in password:
        return
    address = parse_address(f"postgresql://me:{quote(password, safe='')}@db/games")
    assert address.conninfo["password"] == password
    assert address.shown == "postgresql://me@db/games"


@pytest.mark.slow
@settings(max_examples=1000)
@given(
    st.sampled_from(
        ["postgresql://", "postgres://", "postgresql+psycopg://", " postgresql://", "postgresql:", "pg://"]
    ),
    st.sampled_from(["me", "", "a b"]),
    SIGNS,
    SIGNS,
    st.sampled_from(["@db/games", "@db", "@/games", "@db:5/games?sslmode=require", "@db,e/x"]),
)
def test_a_raw_password_of_any_signs_is_never_shown(scheme, user, before, after, rest):
    url = f"{scheme}{user}:{before}{MARK}{after}{rest}"
    assert MARK not in shown_of(url)


def shown_of(url: str) -> str:
    """All that can be seen of an address, or of its refusal."""
    try:
        return repr(parse_address(url))
    except hf.InvalidParameter as error:
        return "".join(traceback.format_exception(error))


@cache
def shown_of_others() -> str:
    """Words, hints and paths of this project, as they are shown of any address."""
    return "".join(map(shown_of, ("?", "memry:", "sqlit:///", "postgresq://")))


@given(st.text())
def test_any_text_is_an_address_or_refused(url):
    assert url in ("memory:", "sqlite:///") or url in shown_of_others() or url not in shown_of(url)


@given(st.text())
def test_what_is_printable_has_nothing_a_terminal_obeys(text):
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text
