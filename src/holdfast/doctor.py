"""The command ``holdfast doctor``: what of an installation works, what does not, and what to do about it."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import typer

import holdfast
from holdfast._numba import cache
from holdfast.checks import whole_number
from holdfast.decisions.stores import parse_address, store_at
from holdfast.errors import HoldfastError, printable
from holdfast.extras import installed
from holdfast.text import counted

FINE, NOTE, WRONG = "ok", "note", "wrong"

PARTS = {
    "simulate": ("polars",),
    "report": ("matplotlib",),
    "serve": ("starlette", "uvicorn", "msgspec", "httptools", "prometheus_client"),
    "store": ("psycopg", "psycopg_pool"),
    "dask": ("distributed",),
}
"""Modules that each extra brings."""

COMMITS = 5
SLOW = 0.05
"""Seconds of a durable commit that are worth a note."""
CLOCKS = 5.0
"""Seconds by which the clocks of client and server may differ."""


class Finding(NamedTuple):
    """A finding: the thing looked at, its state, and advice."""

    what: str
    state: str
    found: str
    do: str = ""


def python() -> Iterator[Finding]:
    """Look at Python and the packages that everything needs."""
    found = f"{platform.python_version()} at {sys.executable}"
    yield Finding("python", FINE, f"{found}, holdfast {holdfast.__version__}")
    needed = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "llvmlite"))
    yield Finding("packages", FINE, needed)


def extras() -> Iterator[Finding]:
    """Look at the optional parts."""
    for extra, modules in PARTS.items():
        lacking = [module for module in modules if not installed(module)]
        if lacking:
            yield Finding(f"extra {extra}", NOTE, f"without {', '.join(lacking)}", f"pip install 'holdfast[{extra}]'")
        else:
            yield Finding(f"extra {extra}", FINE, "installed")
    try:
        alone = version("holdfast-client")
    except PackageNotFoundError:
        return
    yield Finding(
        "client", WRONG, f"holdfast-client {alone} is installed too", "pip uninstall holdfast-client; holdfast has it"
    )


def machine_code() -> Iterator[Finding]:
    """Look at the cache of machine code: without it every process compiles for itself."""
    place, kept = cache.folder(), cache.entries()
    key = f"doctor-{os.getpid()}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is a finding
        cache.write(key, b"")
        works = cache.read(key) == b""
    for entry in cache.entries():
        if entry.file.name.startswith(key):
            entry.file.unlink(missing_ok=True)
    if not works:
        do = "make it a folder that you alone can write to, or name another one in NUMBA_CACHE_DIR"
        yield Finding("machine code", WRONG, f"cannot be kept in {place}: each process compiles for some seconds", do)
    elif not kept:
        yield Finding("machine code", NOTE, f"nothing yet in {place}", "holdfast warm compiles ahead")
    else:
        yield Finding(
            "machine code", FINE, f"{len(kept)} files, {sum(one.size for one in kept) / 1e6:.0f} MB in {place}"
        )


def store(url: str) -> Iterator[Finding]:
    """Look at a store: whether it can be written, and how long a durable commit takes."""
    address = parse_address(url)
    if address.kind == "sqlite" and not Path(address.path).exists():
        folder = Path(address.path).absolute().parent
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            yield Finding("store", WRONG, f"{folder} is no folder that can be written to", f"mkdir -p {folder}")
            return
        yield Finding("store", NOTE, f"there is none yet at {address.shown}", "hf.open or `holdfast serve` begins one")
        return
    with closing(store_at(url)) as opened:
        names = opened.names()
        taken = []
        for _ in range(COMMITS):
            begun = time.perf_counter()
            opened.check_writing()
            taken.append(time.perf_counter() - begun)
        yield Finding("store", FINE, f"{opened.url} can be written; {counted(len(names), 'game')}")
        commit = sorted(taken)[COMMITS // 2]
        found = f"{1000 * commit:.1f} ms for a durable commit, as each ask and tell makes one"
        do = "a faster disk, or many decisions in one call: ask(n)" if commit > SLOW else ""
        yield Finding("commit", NOTE if do else FINE, found, do)


def server(url: str, token: str | None) -> Iterator[Finding]:
    """Look at a server: whether it answers, its version, its clock, and what the token allows."""
    begun = time.time()
    headers, body = _get(url, "/openapi.json", token)
    theirs = json.loads(body)["info"]["version"]
    same = theirs == holdfast.__version__
    do = "" if same else "install the same version on both sides"
    yield Finding("server", FINE if same else NOTE, f"{url} answers; it has holdfast {theirs}", do)
    date = headers.get("date")
    if date is not None:
        apart = parsedate_to_datetime(date).timestamp() - begun
        far = abs(apart) > CLOCKS
        do = "set the clocks by NTP: patience counts by the server's" if far else ""
        yield Finding("clock", WRONG if far else FINE, f"the server's is {apart:+.0f} s from this one's", do)
    try:
        _get(url, "/readyz", token)
        yield Finding("its store", FINE, "can be written")
    except HTTPError as error:
        yield Finding("its store", WRONG, f"cannot be written (status {error.code})", "the server's log says why")
    try:
        _get(url, "/v1/games", token)
        yield Finding("token", FINE, "none is needed" if token is None else "is known")
    except HTTPError as error:
        if error.code not in (401, 403):
            raise
        found = "one is needed" if token is None else "is not known, or allows nothing"
        yield Finding(
            "token", WRONG, found, "holdfast token make FILE --role decide, where the server is; then --token"
        )


def _get(url: str, path: str, token: str | None) -> tuple[dict[str, str], bytes]:
    request = Request(url.rstrip("/") + path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=10) as answer:
        return {name.lower(): value for name, value in answer.headers.items()}, answer.read()


def tokens(file: Path) -> Iterator[Finding]:
    """Look at a file of tokens."""
    from holdfast.service.access import TokenFile

    known = TokenFile(file).known().values()
    if not known:
        yield Finding("tokens", WRONG, f"there are none in {file}", f"holdfast token make {file} --role decide")
        return
    roles = ", ".join(f"{role} {sum(one.role == role for one in known)}" for role in ("read", "decide", "admin"))
    yield Finding("tokens", FINE, f"{len(known)} in {file}: {roles}")


def port_is_free(number: int) -> Iterator[Finding]:
    """Look at the port of `holdfast serve`."""
    from holdfast.service.server import listening_at

    try:
        listening_at("127.0.0.1", number).close()
    except HoldfastError as error:
        yield Finding("port", NOTE, str(error), "holdfast serve --port 0 takes a free one")
    else:
        yield Finding("port", FINE, f"{number} is free")


def clock() -> Iterator[Finding]:
    """Look at this machine's clock."""
    now, built = time.time(), Path(holdfast.__file__).stat().st_mtime
    if now < built - 86400:
        found = f"{time.strftime('%Y-%m-%d', time.gmtime(now))} is before this package was written"
        yield Finding("clock", WRONG, found, "set it: patience and pauses count by it")
    else:
        yield Finding("clock", FINE, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def examined(what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield findings; a failure is one of them."""
    try:
        yield from look()
    except HoldfastError as error:
        yield Finding(what, WRONG, str(error))
    except (HTTPException, OSError, ValueError, KeyError, TypeError) as error:
        cause = getattr(error, "reason", None) or error
        said = getattr(cause, "strerror", None) or cause
        yield Finding(what, WRONG, f"no answer that is understood: {said}", "is a `holdfast serve` there?")
    except ModuleNotFoundError as error:
        yield Finding(what, NOTE, f"not looked at: {error.name} is not installed", "pip install 'holdfast[serve]'")


def doctor(
    url: Annotated[
        str | None, typer.Argument(help="A store, or the http://host:port of a server, to look at too.")
    ] = None,
    token: Annotated[str | None, typer.Option(help="For the server.")] = None,
    tokens_file: Annotated[Path | None, typer.Option("--tokens", help="A file of tokens to look at too.")] = None,
    port: Annotated[int, typer.Option(help="The port that a server would have.")] = 8080,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, errors too.")] = False,
) -> None:
    """Look at the installation, and say what is wrong and what to do. The exit code is 1 if something is.

    Nothing is changed: a store is written to, and is as it was.
    """
    number = whole_number("port", port, least=0, most=65535)
    looks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("python", python),
        ("extras", extras),
        ("machine code", machine_code),
        ("clock", clock),
        ("port", lambda: port_is_free(number)),
    ]
    if tokens_file is not None:
        looks.append(("tokens", lambda: tokens(tokens_file)))
    if url is not None and url.startswith(("http://", "https://")):
        looks.append(("server", lambda: server(url, token)))
    elif url is not None:
        looks.append(("store", lambda: store(url)))
    found = [finding for what, look in looks for finding in examined(what, look)]
    if as_json:
        print(json.dumps([finding._asdict() for finding in found]))
    else:
        for one in found:
            advice = f"; {one.do}" if one.do else ""
            print(printable(f"{one.state:5}  {one.what:14}  {one.found}{advice}"))
    if any(one.state == WRONG for one in found):
        raise typer.Exit(1)
