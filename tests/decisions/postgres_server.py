"""A private PostgreSQL server on a free port, run by an unprivileged user, for tests and benchmarks."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

CANDIDATES = [
    *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    Path("/usr/bin"),
    Path("/usr/local/bin"),
]


def binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs."""
    return next((folder for folder in CANDIDATES if (folder / "initdb").exists()), None)


class PrivateServer:
    """A server with its own data, gone when stopped. In memory by default: nothing here needs the disk."""

    def __init__(self, parent: str | None = None) -> None:
        programs = binaries()
        if programs is None:
            raise RuntimeError("no PostgreSQL here: apt-get install postgresql")
        self._programs = programs
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-pg-", dir=parent or memory))
        self._data = self.folder / "data"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, str] = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            self._as = {"user": "postgres", "group": "postgres"}
            shutil.chown(self.folder, "postgres", "postgres")
        command = [programs / "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._as)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> "PrivateServer":
        options = ["-p", str(self.port), "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1"]
        options += ["-c", "max_connections=50", "-c", "shared_buffers=32MB", "-c", "log_min_messages=fatal"]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *options], stdout=log, stderr=log, cwd="/", **self._as
            )
        self._wait()
        return self

    def _wait(self) -> None:
        ready = [self._programs / "pg_isready", "-h", "127.0.0.1", "-p", str(self.port), "-q"]
        for _ in range(600):
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def kill(self) -> None:
        """End the server as a crash does: at once, with everything in flight."""
        self._end(signal.SIGQUIT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=60)
            self._process = None

    def stop(self) -> None:
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "PrivateServer":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
