"""What the protocol of the requester keeps in cards comes as itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from .task import Task
from .transport import Transport

#: What stands in the place of a result that is too large for the claim.
REFERENCE = {"bytes", "card_id", "type", "uri"}


def load_cards(transport: Transport, task: Task) -> Task:
    """The same task with the arguments of a tool call, and with large results of the tasks before."""
    input, dependencies = task.input, task.dependencies
    if task.dialect == "common-ground" and isinstance(input, dict) and isinstance(input.get("tool_call_card_id"), str):
        content = _read(transport, f"/v1/cards/{quote(input['tool_call_card_id'], safe='')}")
        input = content.get("arguments") or content.get("args") or {}
    if any(_is_reference(value) for value in dependencies.values()):
        dependencies = {
            name: _read(transport, value["uri"]) if _is_reference(value) else value for name, value in dependencies.items()
        }
    if input is task.input and dependencies is task.dependencies:
        return task
    return replace(task, input=input, dependencies=dependencies)


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == REFERENCE


def _read(transport: Transport, path: str) -> Any:
    return transport.call("GET", path)["content"]
