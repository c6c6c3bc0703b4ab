"""Many tasks with one result, and tasks that wait for each other."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .errors import ParleyError, TaskFailed
from .request import RequestHandle, build_request
from .transport import Transport

WAIT_SECONDS = 20
NODE_CHECK_SECONDS = 0.5
PRIORITIES = {"critical": "urgent"}


@dataclass(frozen=True)
class Settled:
    """What became of one task of a batch: its result, or why there is none."""

    value: Any = None
    error: TaskFailed | None = None


class BatchHandle:
    """Many tasks with one result."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    def status(self, *, wait: float = 0) -> dict[str, Any]:
        query = {"wait": f"{wait:g}"} if wait else None
        return self._transport.call("GET", f"/v1/batches/{quote(self.id, safe='')}", query=query, wait=wait)

    def results(self) -> list[Settled]:
        """What became of each task, in their order, once all have ended."""
        while True:
            batch = self.status(wait=WAIT_SECONDS)
            if batch["status"] != "open":
                return [self._settle(item) for item in batch["results"]]

    def _settle(self, item: Mapping[str, Any]) -> Settled:
        if item["status"] == "completed":
            is_elsewhere = "uri" in item and "result" not in item
            return Settled(RequestHandle(self._transport, item["id"]).result() if is_elsewhere else item.get("result"))
        # The batch was over before it.
        state = "cancelled" if item["status"] == "open" else item["status"]
        error = item.get("error") or {}
        message = error.get("message") or f"The task {item['id']} is {state}."
        return Settled(error=TaskFailed(item["id"], state, error.get("code", state), message))


def request_batch(
    transport: Transport,
    items: Sequence[Mapping[str, Any]],
    *,
    id: str | None,
    fail_fast: bool,
    deadline: int | None,
) -> BatchHandle:
    batch_id = id or str(uuid.uuid4())
    tasks = []
    for index, item in enumerate(items):
        options = {"id": f"{batch_id}.{index}", **item}
        capability, input = options.pop("capability"), options.pop("input", {})
        tasks.append(build_request(capability, input, options))
    body = {"batchId": batch_id, "tasks": tasks, "failFast": fail_fast}
    if deadline is not None:
        body["deadlineSeconds"] = deadline
    transport.call("POST", "/v1/batches", body)
    return BatchHandle(transport, batch_id)


class GraphHandle:
    """Tasks that wait for each other, by the names of their nodes."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    def status(self) -> dict[str, Any]:
        return self._transport.call("GET", self._path())

    def cancel(self) -> dict[str, Any]:
        return self._transport.call("POST", self._path("/cancel"))

    def node(self, name: str) -> RequestHandle:
        return RequestHandle(self._transport, f"{self.id}.{name}")

    def results(self) -> dict[str, Any]:
        """The results by node, once all are completed; otherwise raises the `TaskFailed` of a node that is not."""
        names = [to_node_name(self.id, node["taskId"]) for node in self.status()["nodes"]]
        return {name: self._wait_for(name) for name in names}

    def _wait_for(self, name: str) -> Any:
        while True:
            try:
                return self.node(name).result()
            except ParleyError as error:
                # A node is accepted before it is a task.
                if error.code != "task_not_found":
                    raise
                time.sleep(NODE_CHECK_SECONDS)

    def _path(self, rest: str = "") -> str:
        return f"/v1/graphs/{quote(self.id, safe='')}{rest}"


def to_node_name(graph_id: str | None, id: str) -> str:
    """Nodes of a graph that was not requested here have any id."""
    return id[len(graph_id) + 1 :] if graph_id and id.startswith(f"{graph_id}.") else id


def request_graph(
    transport: Transport, nodes: Mapping[str, Mapping[str, Any]], *, id: str | None, on_failure: str | None
) -> GraphHandle:
    graph_id = id or str(uuid.uuid4())
    body: dict[str, Any] = {"graphId": graph_id, "nodes": [_build_node(graph_id, *node) for node in nodes.items()]}
    if on_failure is not None:
        body["onFailure"] = on_failure
    transport.call("POST", "/v1/graphs", body)
    return GraphHandle(transport, graph_id)


def _build_node(graph_id: str, name: str, node: Mapping[str, Any]) -> dict[str, Any]:
    priority = node.get("priority")
    built = {
        "taskId": f"{graph_id}.{name}",
        "capability": node["capability"],
        "dependencies": [f"{graph_id}.{other}" for other in node.get("after", [])],
        "payload": node.get("input"),
        "agent": node.get("to"),
        "priority": PRIORITIES.get(priority, priority) if priority else None,
        "onFailure": node.get("on_failure"),
        "limits": node.get("limits"),
    }
    return {key: value for key, value in built.items() if value is not None}
