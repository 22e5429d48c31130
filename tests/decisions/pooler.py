"""A private PgBouncer in front of a private server, pooling transactions, as most services run it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from postgres_server import PrivateServer

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
ignore_startup_parameters = options, extra_float_digits
logfile = {folder}/log
"""


class Pooler:
    """Few connections to the server for many of ours; each transaction gets whichever is free."""

    def __init__(self, server: PrivateServer, connections: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-pooler-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = self.folder / "settings.ini"
        values = {"server": server.port, "port": self.port, "connections": connections, "folder": self.folder}
        settings.write_text(SETTINGS.format(**values))
        user = {}
        if os.getuid() == 0:  # it refuses to run as root
            user = {"user": "postgres", "group": "postgres"}
            for path in (self.folder, settings):
                shutil.chown(path, "postgres", "postgres")
        self._process = subprocess.Popen(
            [str(PROGRAM), "--quiet", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user
        )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> "Pooler":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait(timeout=120)
        shutil.rmtree(self.folder, ignore_errors=True)
