"""The calls of one turn. All can be repeated, and all are rejected once the turn is somebody else's."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from .errors import ParleyError
from .transport import Transport

DIALECT = {"parley-dialect": "common-ground"}
KEY = re.compile(r"^prl_([^.]+)\.([^.@]+)\.")


def parse_agent_key(key: str) -> tuple[str, str]:
    """The project and the agent: messages of turns have both in their subjects."""
    match = KEY.match(key)
    if not match:
        raise ValueError("Turns need the key of an agent.")
    return match.group(1), match.group(2)


class TurnCalls:
    def __init__(self, transport: Transport, of: tuple[str, str], turn_id: str, epoch: int) -> None:
        self.transport = transport
        self.of = of
        self.turn_id = turn_id
        self.epoch = epoch

    def advance(self, verb: str, body: dict[str, Any] | None = None, **options: Any) -> Any:
        path = f"/v1/turns/{quote(self.turn_id, safe='')}/{verb}"
        return self.transport.call("POST", path, {"turn_epoch": self.epoch, **(body or {})}, **options)

    def view(self) -> dict[str, Any]:
        return self.transport.call("GET", f"/v1/turns/{quote(self.turn_id, safe='')}")

    def create_card(self, type: str, content: dict[str, Any]) -> str:
        """The same content again is the same card."""
        return self.transport.call("POST", "/v1/cards", {"type": type, "content": content})["card_id"]

    def read_card(self, id: str) -> Any:
        return self.transport.call("GET", f"/v1/cards/{quote(id, safe='')}")["content"]

    def append(self, purpose: str, card: str) -> str:
        """Into the turn's box of this purpose, which is made by whoever comes first."""
        box = f"{purpose}-{self.turn_id}"
        self.transport.call("POST", "/v1/boxes", {"kind": "output", "box_id": box, "agent_turn_id": self.turn_id})
        body = {"cards": [card], "turn_epoch": self.epoch}
        self.transport.call("POST", f"/v1/boxes/{quote(box, safe='')}/append", body)
        return box

    def remember(self, key: str, kept: dict[str, Any]) -> None:
        content = {"turn": self.turn_id, "key": key, **kept}
        self.append("memory", self.create_card("agent.step", content))

    def recall(self) -> dict[str, dict[str, Any]]:
        """What the turn has kept so far. The first value of a key counts."""
        memory: dict[str, dict[str, Any]] = {}
        path = f"/v1/boxes/{quote(f'memory-{self.turn_id}', safe='')}/cards"
        start: int | None = 0
        while start is not None:
            try:
                page = self.transport.call("GET", path, query={"from": start})
            except ParleyError as error:
                if error.code == "box_not_found":
                    return memory
                raise
            for card in page["cards"]:
                content = card["content"]
                key = content.get("key")
                if key is not None and key not in memory:
                    memory[key] = {name: content[name] for name in ("value", "call") if name in content}
            start = page.get("next")
        return memory

    def call_tool(self, call: dict[str, Any], channel: str) -> None:
        """Once the turn waits for it: a report to a turn that does not wait is dropped."""
        payload = {
            "tool_call_id": call["callId"],
            "agent_turn_id": self.turn_id,
            "turn_epoch": self.epoch,
            "agent_id": self.of[1],
            "tool_name": call["tool"],
            "tool_call_card_id": call["cardId"],
        }
        self._send(channel, call.get("topic") or f"cmd.tool.{call['target']}.execute", payload)

    def say(self, channel: str, chunk: dict[str, Any]) -> None:
        """For whoever reads the stream of the turn; nothing depends on it."""
        self._send(channel, f"str.agent.{self.of[1]}.chunk", {"agent_turn_id": self.turn_id, **chunk})

    def _send(self, channel: str, topic: str, payload: dict[str, Any]) -> None:
        body = {"subject": f"cg.v1r3.{self.of[0]}.{channel}.{topic}", "payload": payload}
        self.transport.call("POST", "/v1/messages", body, headers=DIALECT)
