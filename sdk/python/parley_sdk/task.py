"""A task as a handler gets it, whatever protocol its requester speaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .batch import to_node_name


@dataclass(frozen=True)
class Task:
    id: str
    capability: str
    input: Any
    sender: str
    priority: str
    attempt: int
    created_at: str
    dialect: str
    lease_until: str
    traceparent: str
    conversation: str | None = None
    user: str | None = None
    parent: str | None = None
    graph_id: str | None = None
    metadata: dict[str, Any] | None = None
    #: What only the protocol of its requester has words for.
    extensions: dict[str, Any] | None = None
    #: Why the attempt before failed.
    last_error: dict[str, Any] | None = None
    #: Results of the tasks that this one waited for, by their id, or by the name of their node in a graph.
    dependencies: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)


def to_task(claimed: dict[str, Any]) -> Task:
    message = claimed["message"]
    return Task(
        id=message["id"],
        capability=message["capability"],
        input=message.get("input"),
        sender=message["from"],
        priority=message["priority"],
        attempt=claimed["attempt"],
        created_at=message["createdAt"],
        dialect=message["dialect"],
        lease_until=claimed["lease"]["until"],
        traceparent=claimed["traceparent"],
        conversation=message.get("conversation"),
        user=message.get("user"),
        parent=message.get("parent"),
        graph_id=claimed.get("graphId"),
        metadata=message.get("metadata"),
        extensions=message.get("extensions"),
        last_error=message.get("lastError"),
        dependencies={
            to_node_name(claimed.get("graphId"), id): entry.get("result")
            for id, entry in (message.get("results") or {}).items()
        },
        steps=claimed.get("steps") or {},
    )
