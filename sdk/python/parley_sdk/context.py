"""What a handler can do for its task while it works on it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import quote

from .errors import AbortReason, Suspended, TaskAborted
from .request import NATIVE, RequestHandle, build_request
from .task import Task
from .transport import Transport

T = TypeVar("T")

CALL_CHECK_SECONDS = 5.0


class TaskContext:
    """For handlers in threads. Every method raises `TaskAborted` once the work counts for nothing."""

    def __init__(self, task: Task, transport: Transport) -> None:
        self.task = task
        self.dependencies = task.dependencies
        #: Set when the work counts for nothing any more: cancelled, lost to another worker, or stopping.
        self.aborted = threading.Event()
        self._reason: AbortReason = "lost"
        self._transport = transport
        self._artifacts: dict[str, dict[str, Any]] = {}
        self._uses: dict[str, int] = {}
        self._said: dict[str, Any] = {}
        self._lock = threading.Lock()

    def load(self, task: Task) -> None:
        """The task with what stood in cards."""
        self.task = task
        self.dependencies = task.dependencies

    def abort(self, reason: AbortReason) -> None:
        self._reason = reason
        self.aborted.set()

    def check(self) -> None:
        """Raises `TaskAborted` if the task is no longer this worker's."""
        if self.aborted.is_set():
            raise TaskAborted(self.task.id, self._reason)

    def progress(self, percent: float, message: str | None = None) -> None:
        """Tells the requester how far the work is, and renews the lease."""
        self.check()
        self._send({"kind": "progress", "percent": percent, **({"message": message} if message else {})})

    def step(self, name: str, run: Callable[[], T]) -> T:
        """Runs a function once in the life of the task: every later attempt gets its result back.

        The function should be safe to repeat, because a worker can die between its end and the write.
        """
        key = self._to_key(name)
        known = self._read(key)
        if known is not None:
            return known["value"]
        self.check()
        value = run()
        self.check()
        return self._keep(key, value)

    def ask(self, prompt: str, schema: dict[str, Any] | None = None) -> Any:
        """Asks the requester, and ends the attempt until the answer is there.

        Then the handler runs again, on any worker, and this call returns the answer at once.
        """
        key = self._to_key("ask")
        known = self._read(key)
        if known is not None:
            return known["value"]
        self.check()
        question = {"kind": "question", "prompt": prompt, "step": key, "requeue": True}
        self._send({**question, **({"schema": schema} if schema else {})})
        raise Suspended()

    def call(self, capability: str, input: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Requests a subtask and waits for its result: the same subtask, however often the handler runs."""
        key = self._to_key(f"call {name or capability}")
        known = self._read(key)
        if known is not None:
            return known["value"]
        self.check()
        id = _derive_id(self.task.id, key)
        message = build_request(capability, {} if input is None else input, {**options, "id": id, "parent": self.task.id})
        self._transport.call("POST", "/v1/messages", message, headers=NATIVE)
        return self._keep(key, self._wait_for(RequestHandle(self._transport, id)))

    def _wait_for(self, handle: RequestHandle) -> Any:
        """In pieces, so that a handler that works for nothing does not wait on."""
        while True:
            self.check()
            try:
                return handle.result(timeout=CALL_CHECK_SECONDS)
            except TimeoutError:
                continue

    def attach(self, name: str, type: str, content: str | bytes) -> None:
        """A file that goes with the result. The requester gets it from `handle.artifact(name)`."""
        if isinstance(content, bytes):
            text = base64.b64encode(content).decode()
            self._artifacts[name] = {"name": name, "type": type, "content": text, "encoding": "base64"}
        else:
            self._artifacts[name] = {"name": name, "type": type, "content": content}

    def set_confidence(self, confidence: float) -> None:
        """How sure the result is, from 0 to 1, for protocols that have a word for it."""
        self._said["confidence"] = confidence

    def set_evidence(
        self,
        sources: list[dict[str, Any]],
        *,
        citations: list[dict[str, Any]] | None = None,
        provenance: list[dict[str, Any]] | None = None,
    ) -> None:
        """What the result rests on, for protocols in which every answer names its sources."""
        self._said["evidence"] = {"sources": sources, "citations": citations or [], "provenance": provenance or []}

    def describe_result(self) -> dict[str, Any]:
        return {**self._said, **({"artifacts": list(self._artifacts.values())} if self._artifacts else {})}

    def _send(self, report: dict[str, Any]) -> None:
        message = {**report, "taskId": self.task.id, "attempt": self.task.attempt}
        self._transport.call("POST", "/v1/messages", message, headers=NATIVE, stop=self.aborted)

    def _to_key(self, name: str) -> str:
        """Names may repeat, in loops: each use has a place of its own."""
        plain = name.replace(".", "/")
        with self._lock:
            uses = self._uses[plain] = self._uses.get(plain, 0) + 1
        return plain if uses == 1 else f"{plain} {uses}"

    def _read(self, key: str) -> dict[str, Any] | None:
        kept = self.task.steps.get(key)
        if kept is None or "value" in kept:
            return kept
        return self._transport.call("GET", self._path(key))

    def _keep(self, key: str, value: Any) -> Any:
        body = {"value": value, "attempt": self.task.attempt}
        return self._transport.call("PUT", self._path(key), body)["value"]

    def _path(self, key: str) -> str:
        return f"/v1/tasks/{quote(self.task.id, safe='')}/steps/{quote(key, safe='')}"


class AsyncTaskContext:
    """The same for handlers that are coroutines."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self.task = context.task
        self.dependencies = context.dependencies
        self.aborted = context.aborted

    def check(self) -> None:
        self._context.check()

    async def progress(self, percent: float, message: str | None = None) -> None:
        await asyncio.to_thread(self._context.progress, percent, message)

    async def step(self, name: str, run: Callable[[], Awaitable[T] | T]) -> T:
        key = self._context._to_key(name)
        known = await asyncio.to_thread(self._context._read, key)
        if known is not None:
            return known["value"]
        self.check()
        value = run()
        if isinstance(value, Awaitable):
            value = await value
        self.check()
        return await asyncio.to_thread(self._context._keep, key, value)

    def attach(self, name: str, type: str, content: str | bytes) -> None:
        self._context.attach(name, type, content)

    def set_confidence(self, confidence: float) -> None:
        self._context.set_confidence(confidence)

    def set_evidence(self, sources: list[dict[str, Any]], **more: list[dict[str, Any]] | None) -> None:
        self._context.set_evidence(sources, **more)

    async def ask(self, prompt: str, schema: dict[str, Any] | None = None) -> Any:
        return await asyncio.to_thread(self._context.ask, prompt, schema)

    async def call(self, capability: str, input: Any = None, *, name: str | None = None, **options: Any) -> Any:
        return await asyncio.to_thread(lambda: self._context.call(capability, input, name=name, **options))


def _derive_id(task_id: str, key: str) -> str:
    """The same for the same step of the same task in every SDK, and no other's."""
    said = json.dumps(["step", task_id, key], separators=(",", ":"), ensure_ascii=False)
    text = hashlib.sha256(said.encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-8{text[13:16]}-a{text[17:20]}-{text[20:32]}"
