"""A line between client and server that can be cut."""

import contextlib
import socket
import threading


class CuttingProxy:
    """Passes bytes on to a port of this machine, and cuts lines: when told to, or right after a word was sent."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cuts = 0
        self._word: bytes | None = None
        self._swallowing = False
        self._silent: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "CuttingProxy":
        self._start(self._accept)
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.close()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=0.1).close()
        self.cut()
        for thread in self._threads:
            thread.join(timeout=5)

    def cut(self) -> None:
        """End all lines at once."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            self.cuts += 1
            for end in pair:
                _end(end)

    def silence(self, silent: bool = True) -> None:
        """Swallow all bytes of old and new lines, as a network does that drops packets; or no more."""
        self._swallowing = silent

    def cut_before_answer_to(self, word: bytes) -> None:
        """Let the next message with this word pass, and then nothing more in either direction."""
        self._word = word

    def _start(self, work, *arguments) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            with self._lock:
                self._pairs.append((client, server))
            self._start(self._pass_on, client, server, True)
            self._start(self._pass_on, server, client, False)

    def _pass_on(self, source: socket.socket, sink: socket.socket, asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._swallowing:
                    continue
                if not asking and source in self._silent:
                    self._silent.discard(source)  # the server has answered: it has happened
                    self.cuts += 1
                    break
                if asking and self._word is not None and self._word in data:
                    self._word = None
                    self._silent.add(sink)
                sink.sendall(data)
        with self._lock:
            self._pairs = [pair for pair in self._pairs if source not in pair]
        for end in (source, sink):
            _end(end)


def _end(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
    line.close()
