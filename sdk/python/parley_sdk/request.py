"""Tasks as their requester sees them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from .errors import TaskFailed
from .transport import Transport

NATIVE = {"parley-dialect": "native"}
WAIT_SECONDS = 25
MAX_ANSWER_CHECK = 5.0
ENDS = ("failed", "expired", "cancelled")


def build_request(capability: str, input: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The native message, without what was not said."""
    message = {"kind": "request", "id": str(uuid.uuid4()), "capability": capability, "input": input, **options}
    if "ttl" in message:
        message["ttlSeconds"] = message.pop("ttl")
    return {name: value for name, value in message.items() if value is not None}


class RequestHandle:
    """A task that was requested. Nothing is lost if this object is: `parley.task(id)` makes another."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    def result(
        self, *, timeout: float | None = None, on_question: Callable[[dict[str, Any]], Any] | None = None
    ) -> Any:
        """The result, as soon as there is one; otherwise raises `TaskFailed`. After `timeout` seconds, `TimeoutError`."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.5
        while True:
            left = WAIT_SECONDS if until is None else min(WAIT_SECONDS, until - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"The task {self.id} has not ended within {timeout} s. It goes on.")
            task = self.status(wait=left)
            state = task["state"]
            if state == "completed":
                return task.get("result")
            if state in ENDS:
                error = task.get("error") or {}
                message = error.get("message") or f"The task {self.id} is {state}."
                raise TaskFailed(self.id, state, error.get("code", state), message, error.get("details"))
            if state != "input_required":
                continue
            if on_question is not None and task.get("input"):
                self.answer(on_question(task["input"]))
            else:
                time.sleep(pause)
                pause = min(MAX_ANSWER_CHECK, pause * 2)

    def status(self, *, wait: float = 0) -> dict[str, Any]:
        seconds = max(0.0, round(wait, 3))
        query = {"wait": f"{seconds:g}"} if seconds else None
        return self._transport.call("GET", self._path(), query=query, wait=wait)

    def cancel(self) -> dict[str, Any]:
        return self._transport.call("POST", self._path("/cancel"))

    def answer(self, input: Any) -> dict[str, Any]:
        """Answers what the holder asks."""
        return self._transport.call("POST", self._path("/input"), {"input": input})

    def artifacts(self) -> list[dict[str, Any]]:
        """The files that came with the result."""
        return self._transport.call("GET", self._path("/artifacts"))["artifacts"]

    def artifact(self, name: str) -> bytes:
        return self._transport.call("GET", self._path(f"/artifacts/{quote(name, safe='')}"), raw=True)

    def retry(self) -> dict[str, Any]:
        """Runs a failed or expired task once more."""
        return self._transport.call("POST", self._path("/retry"))

    def _path(self, rest: str = "") -> str:
        return f"/v1/tasks/{quote(self.id, safe='')}{rest}"


def send_messages(transport: Transport, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """As many as are given, 25 in a call. Each has its own status and body."""
    results: list[dict[str, Any]] = []
    for start in range(0, len(messages), 25):
        body = {"messages": list(messages[start : start + 25])}
        results += transport.call("POST", "/v1/messages", body, headers=NATIVE)["results"]
    return results
