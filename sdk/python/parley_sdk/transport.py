"""Calls of the HTTP API, repeated until they have an answer: every call can be repeated with the same ids."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from .errors import ConnectionFailed, ParleyError
from .signing import Sign, sign_call

#: Seconds. An answer that does not come in this time is taken for lost.
ANSWER_SECONDS = 30.0
FIRST_DELAY = 0.1
MAX_DELAY = 5.0
FOREVER = float("inf")
#: The server says at least every 15 seconds that a stream is still there.
SILENCE_SECONDS = 45.0


class Transport:
    """One deployment and one key. A connection is used by one call at a time, and kept for the next."""

    def __init__(self, url: str, key: str, *, retry_for: float = 60.0, sign: Sign | None = None) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not an address such as https://parley.example.com.")
        self._https = parts.scheme == "https"
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path
        self._headers = {"authorization": f"Bearer {key}"}
        self._retry_for = retry_for
        self._sign = sign
        #: How far the clock of the server is ahead, in seconds, as its last answer said.
        self.clock_offset = 0.0
        self._idle: list[http.client.HTTPConnection] = []
        #: By the thread that waits for its answer.
        self._active: dict[int, http.client.HTTPConnection] = {}
        self._interrupted: set[int] = set()
        self._lock = threading.Lock()

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
        raw: bool = False,
    ) -> Any:
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        said = {**self._headers, **({"content-type": "application/json"} if data else {}), **(headers or {})}
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{self._base}{path}" + (f"?{urlencode(pairs)}" if pairs else "")
        until = time.monotonic() + (self._retry_for if retry_for is None else retry_for)
        attempt = 0
        while True:
            attempt += 1
            headers_now = {**said, **self._sign_call(method, path, said, body)}
            error, after = self._try(method, target, data, headers_now, wait, raw)
            if not isinstance(error, Exception):
                return error
            delay = after if after is not None else min(MAX_DELAY, FIRST_DELAY * 2 ** (attempt - 1)) * random.uniform(0.5, 1.5)
            if time.monotonic() + delay > until or (stop is not None and stop.is_set()):
                raise error
            if stop is None:
                time.sleep(delay)
            else:
                stop.wait(delay)

    def _sign_call(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> dict[str, str]:
        """What is only read needs no signature."""
        if self._sign is None or method == "GET":
            return {}
        return sign_call(self._sign, method, path, headers, body, time.time() + self.clock_offset)

    def _try(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], wait: float, raw: bool
    ) -> tuple[Any, float | None]:
        """The answer, or the error of a call that may succeed later with when that is."""
        thread = threading.get_ident()
        connection, is_reused = self._acquire(ANSWER_SECONDS + wait)
        self._active[thread] = connection
        try:
            if connection.sock is None:
                connection.connect()
                # Headers and body are two packets: without this the second waits 40 ms for the first one's receipt.
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as cause:
            connection.close()
            # A server may close a connection that was idle in the moment in which it is used again.
            is_interrupted = thread in self._interrupted
            if is_reused and not is_interrupted and isinstance(cause, (ConnectionError, http.client.RemoteDisconnected)):
                return self._try(method, target, data, headers, wait, raw)
            failed = ConnectionFailed(f"{self.url} cannot be reached: {cause or type(cause).__name__}")
            failed.__cause__ = cause
            return failed, None
        finally:
            self._active.pop(thread, None)
            self._interrupted.discard(thread)
        with self._lock:
            self._idle.append(connection)
        self._read_clock(response.getheader("date"))
        if response.status < 400:
            return (text if raw else json.loads(text) if text else None), None
        error = ParleyError(response.status, _parse_problem(text, response.reason))
        if not is_passing(error):
            raise error
        after = response.getheader("retry-after")
        return error, (float(after) + random.uniform(0, 0.25) if after and after.isdigit() else None)

    def _read_clock(self, date: str | None) -> None:
        if date:
            self.clock_offset = parsedate_to_datetime(date).timestamp() - time.time()

    def stream(self, path: str, query: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
        """The lines of an answer that does not end, on a connection of its own, until that is lost."""
        pairs = {name: value for name, value in query.items() if value is not None}
        connection = self._create_connection()
        connection.timeout = SILENCE_SECONDS
        try:
            connection.request("GET", f"{self._base}{path}?{urlencode(pairs)}", headers={**self._headers, **headers})
            response = connection.getresponse()
            if response.status >= 400:
                raise ParleyError(response.status, _parse_problem(response.read(), response.reason))
            for line in response:
                yield line.decode().rstrip("\r\n")
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def _create_connection(self) -> http.client.HTTPConnection:
        if self._https:
            return http.client.HTTPSConnection(self._host, self._port, context=ssl.create_default_context())
        return http.client.HTTPConnection(self._host, self._port)

    def _acquire(self, timeout: float) -> tuple[http.client.HTTPConnection, bool]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._create_connection()
            connection.timeout = timeout
            return connection, False
        connection.timeout = timeout
        if connection.sock is None:
            return connection, False
        connection.sock.settimeout(timeout)
        return connection, True

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def interrupt(self, thread: int) -> None:
        """Ends the call that another thread waits for."""
        connection = self._active.get(thread)
        self._interrupted.add(thread)
        if connection is not None and connection.sock is not None:
            try:
                connection.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def is_passing(error: BaseException) -> bool:
    """Whether the same call can succeed later."""
    if isinstance(error, ParleyError):
        return error.retryable or error.status in (408, 429) or error.status >= 500
    return isinstance(error, ConnectionFailed)


def _parse_problem(text: bytes, reason: str) -> dict[str, Any]:
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"detail": text[:500].decode(errors="replace") or reason}
