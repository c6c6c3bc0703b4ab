"""Parley: durable tasks between AI agents."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .asynchronous import AsyncParley, AsyncRequestHandle
from .batch import BatchHandle, GraphHandle, Settled, request_batch, request_graph
from .context import AsyncTaskContext, TaskContext
from .errors import ConnectionFailed, Fail, ParleyError, Retry, TaskAborted, TaskFailed
from .events import read_events
from .request import NATIVE, RequestHandle, build_request
from .signing import Sign, sign_with_secret
from .task import Task
from .transport import Transport
from .turn_calls import parse_agent_key
from .turns import Turn, TurnContext, TurnHandle, TurnWorker
from .worker import Worker

__all__ = [
    "AsyncParley",
    "AsyncRequestHandle",
    "AsyncTaskContext",
    "BatchHandle",
    "ConnectionFailed",
    "Fail",
    "GraphHandle",
    "Parley",
    "ParleyError",
    "RequestHandle",
    "Retry",
    "Settled",
    "Task",
    "TaskAborted",
    "TaskContext",
    "TaskFailed",
    "Turn",
    "TurnContext",
    "TurnHandle",
    "TurnWorker",
    "Worker",
    "connect",
]


class Parley:
    """One agent's connection, or an administrator's. It may be shared by threads."""

    def __init__(self, transport: Transport, key: str) -> None:
        self._transport = transport
        self._key = key

    def worker(
        self,
        *,
        concurrency: int = 8,
        drain: float = 30.0,
        lease: float | None = None,
        instance: str | None = None,
    ) -> Worker:
        return Worker(self._transport, concurrency=concurrency, drain=drain, lease=lease, instance=instance)

    def request(
        self,
        capability: str,
        input: Any = None,
        *,
        id: str | None = None,
        to: str | None = None,
        priority: str | None = None,
        ttl: int | None = None,
        conversation: str | None = None,
        user: str | None = None,
        parent: str | None = None,
        dependencies: list[str] | None = None,
        limits: Sequence[Mapping[str, Any]] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> RequestHandle:
        """Requests a task. It is durable when this returns. The same id again is the same task. `ttl` is in seconds.

        Each of `limits` has a `key`, and `concurrency`, how many tasks of the key run at once, or `rate`, with so many
        `starts` in so many `seconds`.
        """
        options = {
            "id": id or str(uuid.uuid4()),
            "to": to,
            "priority": priority,
            "ttl": ttl,
            "conversation": conversation,
            "user": user,
            "parent": parent,
            "dependencies": dependencies,
            "limits": limits,
            "metadata": metadata,
        }
        message = build_request(capability, {} if input is None else input, options)
        self._transport.call("POST", "/v1/messages", message, headers=NATIVE)
        return RequestHandle(self._transport, message["id"])

    def task(self, id: str) -> RequestHandle:
        """A task that was requested before."""
        return RequestHandle(self._transport, id)

    def batch(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        id: str | None = None,
        fail_fast: bool = False,
        deadline: int | None = None,
    ) -> BatchHandle:
        """Requests many tasks with one result: each has `capability`, `input`, and the options of `request`."""
        return request_batch(self._transport, items, id=id, fail_fast=fail_fast, deadline=deadline)

    def graph(
        self, nodes: Mapping[str, Mapping[str, Any]], *, id: str | None = None, on_failure: str | None = None
    ) -> GraphHandle:
        """Requests tasks that wait for each other, by name: each has `capability`, `input` and `after`, a list of names."""
        return request_graph(self._transport, nodes, id=id, on_failure=on_failure)

    def find_batch(self, id: str) -> BatchHandle:
        return BatchHandle(self._transport, id)

    def find_graph(self, id: str) -> GraphHandle:
        return GraphHandle(self._transport, id)

    def events(self, types: Sequence[str] | None = None, *, after: str | None = None) -> Iterator[dict[str, Any]]:
        """Events as they happen, from now on or after a position. Goes on where it was after a lost connection."""
        return read_events(self._transport, types, after)

    def broadcast(self, audience: str, content: Any, *, id: str | None = None, type: str | None = None) -> dict[str, Any]:
        """Sends a message to `all`, to `capability:<name>` or to `domain:<name>`. For coordinators."""
        # The header is the address.
        message = {"kind": "message", "id": id or str(uuid.uuid4()), "to": "all", "content": content}
        if type is not None:
            message["type"] = type
        headers = {**NATIVE, "parley-broadcast": audience}
        return self._transport.call("POST", "/v1/messages", message, headers=headers)

    def turns(
        self, handler: Callable[[Turn, TurnContext], Any], *, instance: str | None = None, drain: float = 30.0
    ) -> TurnWorker:
        """Works on the turns of this agent. A process that comes back as the same `instance` goes on with its turn."""
        return TurnWorker(self._transport, parse_agent_key(self._key), handler, instance=instance, drain=drain)

    def call_agent(self, agent: str, payload: dict[str, Any], *, correlation: str | None = None) -> TurnHandle:
        """Calls an agent that takes turns. The same correlation again is the same turn."""
        body = {"agent_id": agent, "correlation_id": correlation or str(uuid.uuid4()), "payload": payload}
        return TurnHandle(self._transport, self._transport.call("POST", "/v1/turns", body)["agent_turn_id"])

    def find_turn(self, id: str) -> TurnHandle:
        return TurnHandle(self._transport, id)

    def send(self, to: str, content: Any, *, id: str | None = None, type: str | None = None) -> dict[str, Any]:
        """Sends a direct message."""
        message = {"kind": "message", "id": id or str(uuid.uuid4()), "to": to, "content": content}
        if type is not None:
            message["type"] = type
        return self._transport.call("POST", "/v1/messages", message, headers=NATIVE)

    def inbox(self, *, forever: bool = True) -> Iterator[dict[str, Any]]:
        """The inbox, one message after the other. A message is done when the next one is asked for."""
        query = {"dialect": "native", "max": 50, "wait": 20 if forever else None}
        while True:
            messages = self._transport.call("GET", "/v1/inbox", query=query, wait=20)["messages"]
            done: list[str] = []
            try:
                for message in messages:
                    yield message
                    done.append(message["id"])
            finally:
                if done:
                    self._transport.call("POST", "/v1/inbox/ack", {"ids": done})
            if not messages and not forever:
                return

    def close(self) -> None:
        """Closes the connections that nobody uses. A further call opens one."""
        self._transport.close()

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Any call of the HTTP API, repeated like all others."""
        return self._transport.call(method, path, body, **options)


def connect(
    url: str | None = None,
    key: str | None = None,
    *,
    retry_for: float = 60.0,
    hmac_secret: str | None = None,
    sign: Sign | None = None,
) -> Parley:
    """By default with PARLEY_URL and PARLEY_KEY. Calls are repeated for `retry_for` seconds.

    `hmac_secret`, or a function `sign` for other keys, signs what an agent sends whose registration asks for it.
    """
    if hmac_secret is not None:
        sign = sign_with_secret(hmac_secret)
    url = url or os.environ.get("PARLEY_URL")
    key = key or os.environ.get("PARLEY_KEY")
    if not url:
        raise ValueError("Where is Parley? Pass `url`, or set PARLEY_URL.")
    if not key:
        raise ValueError("A key is missing. Pass `key`, or set PARLEY_KEY.")
    return Parley(Transport(url, key, retry_for=retry_for, sign=sign), key)
