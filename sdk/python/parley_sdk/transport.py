"""Calls of the HTTP API, repeated until they have an answer: every call can be repeated with the same ids."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from .errors import ConnectionFailed, ParleyError

#: Seconds. An answer that does not come in this time is taken for lost.
ANSWER_SECONDS = 30.0
FIRST_DELAY = 0.1
MAX_DELAY = 5.0
FOREVER = float("inf")


class Transport:
    """One deployment and one key. Each thread has a connection of its own."""

    def __init__(self, url: str, key: str, *, retry_for: float = 60.0) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address such as https://parley.example.com.")
        self._https = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path
        self._headers = {"authorization": f"Bearer {key}"}
        self._retry_for = retry_for
        self._connections: dict[int, http.client.HTTPConnection] = {}

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        wait: float = 0.0,
        retry_for: float | None = None,
        stop: threading.Event | None = None,
    ) -> Any:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        said = {**self._headers, **({"content-type": "application/json"} if data else {}), **(headers or {})}
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{self._base}{path}" + (f"?{urlencode(pairs)}" if pairs else "")
        until = time.monotonic() + (self._retry_for if retry_for is None else retry_for)
        attempt = 0
        while True:
            attempt += 1
            error, after = self._try(method, target, data, said, wait)
            if not isinstance(error, Exception):
                return error
            delay = after if after is not None else min(MAX_DELAY, FIRST_DELAY * 2 ** (attempt - 1)) * random.uniform(0.5, 1.5)
            if time.monotonic() + delay > until or (stop is not None and stop.is_set()):
                raise error
            if stop is None:
                time.sleep(delay)
            else:
                stop.wait(delay)

    def _try(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], wait: float
    ) -> tuple[Any, float | None]:
        """The answer, or the error of a call that may succeed later with when that is."""
        try:
            connection = self._connect(ANSWER_SECONDS + wait)
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as cause:
            self.close()
            failed = ConnectionFailed(f"{self.url} cannot be reached: {cause or type(cause).__name__}")
            failed.__cause__ = cause
            return failed, None
        if response.status < 400:
            return (json.loads(text) if text else None), None
        error = ParleyError(response.status, _parse_problem(text, response.reason))
        if response.status != 429 and response.status < 500:
            raise error
        after = response.getheader("retry-after")
        return error, (float(after) + random.uniform(0, 0.25) if after and after.isdigit() else None)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        thread = threading.get_ident()
        connection = self._connections.get(thread)
        if connection is None:
            if self._https:
                connection = http.client.HTTPSConnection(self._host, self._port, context=ssl.create_default_context())
            else:
                connection = http.client.HTTPConnection(self._host, self._port)
            self._connections[thread] = connection
        connection.timeout = timeout
        if connection.sock is None:
            connection.connect()
            # Headers and body are two packets: without this the second waits 40 ms for the first one's receipt.
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            connection.sock.settimeout(timeout)
        return connection

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = self._connections.pop(threading.get_ident(), None)
        if connection is not None:
            connection.close()

    def interrupt(self, thread: int) -> None:
        """Ends the call that another thread waits for."""
        connection = self._connections.get(thread)
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def _parse_problem(text: bytes, reason: str) -> dict[str, Any]:
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"detail": text[:500].decode(errors="replace") or reason}
