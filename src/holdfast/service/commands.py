"""The commands ``holdfast serve`` and ``holdfast token``."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from holdfast.checks import real_number, whole_number
from holdfast.command_line import LIST, Command, names
from holdfast.decisions.cli import Allow, AsJson, Url, lasting_store, when
from holdfast.decisions.options import written_time
from holdfast.errors import InvalidParameter, MissingExtra, printable

TokensFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file with the tokens' hashes.")]


def add_to(app: typer.Typer, token: typer.Typer) -> None:
    """Make the commands known."""
    app.command(cls=Command)(serve)
    app.command(cls=Command)(demo)
    token.command("make", cls=Command)(make_token)
    token.command("list", cls=Command)(list_tokens)
    token.command("revoke", cls=Command)(revoke_token)


def serve(
    url: Url,
    host: Annotated[str, typer.Option(help="Address; beyond this machine only with --tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8080,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    tokens: Annotated[Path | None, typer.Option(help="A file that `holdfast token make` wrote.")] = None,
    rate: Annotated[float, typer.Option(help="Requests a second of one token; 0: no limit.")] = 0.0,
    connections: Annotated[int, typer.Option(help="Open connections of one process.")] = 1000,
    connections_each: Annotated[int, typer.Option(help="Open connections of one address.")] = 250,
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar=LIST, help="Proxies whose X-Forwarded-For and -Proto count: addresses or networks."),
    ] = None,
    body: Annotated[int, typer.Option(help="Bytes of a request's body.")] = 1 << 20,
    certificate: Annotated[Path | None, typer.Option(help="For TLS: a file with the certificate chain.")] = None,
    key: Annotated[Path | None, typer.Option(help="For TLS: a file with the private key.")] = None,
    root_path: Annotated[str, typer.Option(help="The path under which a proxy serves it, such as /holdfast.")] = "",
    allow: Allow = None,
) -> None:
    """Make decisions over HTTP, with a page.

    Prints its address when it is ready.
    """
    try:
        from holdfast.service.access import TokenFile
        from holdfast.service.app import Limits
        from holdfast.service.server import checked_proxy, serve as serve_store
    except ModuleNotFoundError as error:
        raise MissingExtra(f"serving needs {error.name}: pip install 'holdfast[serve]'") from None
    lasting_store(url, "server")
    if key is not None and certificate is None:
        raise InvalidParameter("certificate", "must be given along with --key", None)
    if not re.fullmatch(r"(/[\w.~-]+)*/?", root_path, re.ASCII):
        raise InvalidParameter("root_path", "must be a path such as /holdfast", root_path)
    serve_store(
        url,
        host=host,
        port=whole_number("port", port, least=0, most=65535),
        workers=whole_number("workers", workers, least=1, most=64),
        connections=whole_number("connections", connections, least=1),
        connections_each=whole_number("connections_each", connections_each, least=1),
        proxies=[checked_proxy(one) for one in names(proxy)],
        certificate=certificate,
        key=key,
        tokens=None if tokens is None else TokenFile(tokens),
        say=lambda address: print(f"Holdfast answers at {address}", flush=True),
        limits=Limits(body=whole_number("body", body, least=1024), rate=real_number("rate", rate, least=0)),
        root=root_path.rstrip("/"),
        allow=tuple(allow or ()),
    )


def demo(port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8080) -> None:
    """Show the service with three live games and made-up traffic.

    gateway: three providers, of which the best fails now and then. regions: the carbon of four
    regions, all of it known. canary: two versions, with a part left to the old one for comparison. Ctrl-C ends it
    and leaves nothing behind.
    """
    try:
        from holdfast.service.demo import demo as play
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the demo needs {error.name}: pip install 'holdfast[serve]'") from None
    play(whole_number("port", port, least=0, most=65535))


def make_token(
    file: TokensFile,
    role: Annotated[str, typer.Option(help="read, decide or admin; each may do all that those before it may.")],
    game: Annotated[list[str] | None, typer.Option(metavar=LIST, help="Only for these games.")] = None,
    note: Annotated[str, typer.Option(help="A note on its purpose.")] = "",
    lifetime: Annotated[str | None, typer.Option(help="The time it is valid, such as 12h or 90d.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it: it cannot be shown again."""
    from holdfast.service.access import TokenFile

    length = None if lifetime is None else written_time("lifetime", lifetime)
    if isinstance(length, datetime):
        raise InvalidParameter("lifetime", "must be how long, such as 12h or 90d", lifetime)
    written = TokenFile(file).make(role, names(game), note, length)
    print(json.dumps({"token": written}) if as_json else written)


def list_tokens(file: TokensFile, as_json: AsJson = False) -> None:
    """List the tokens: id, role, games, when and what for."""
    from holdfast.service.access import TokenFile

    if not file.exists():
        raise InvalidParameter("file", "must be a file that `holdfast token make` wrote; there is none", None)
    found = TokenFile(file).known().values()
    if as_json:
        print(json.dumps([{k: v for k, v in vars(one).items() if k != "hash"} for one in found]))
        return
    for one in found:
        ends = [] if one.expires is None else [f"{'expired' if one.expired else 'until'} {when(one.expires)}"]
        seen = printable(",".join(one.games) or "all games")
        print(one.id, f"{one.role:6}", when(one.created), *ends, seen, printable(one.note))


def revoke_token(
    file: TokensFile,
    id: Annotated[str, typer.Argument(help="The id that `holdfast token list` shows.")],
    as_json: AsJson = False,
) -> None:
    """Make a token worthless, at once."""
    from holdfast.service.access import TokenFile

    TokenFile(file).revoke(id)
    print(json.dumps({"revoked": id}) if as_json else "revoked")
