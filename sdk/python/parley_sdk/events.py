"""Events as they happen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from .errors import ParleyError
from .transport import Transport, is_passing

RECONNECT_SECONDS = 1.0


def read_events(transport: Transport, types: Sequence[str] | None, after: str | None) -> Iterator[dict[str, Any]]:
    """Goes on where it ended, whenever the connection ends. Each event has its `position`."""
    query = {"type": ",".join(types) if types else None, "after": after}
    position: str | None = None
    while True:
        headers = {"accept": "text/event-stream", **({"last-event-id": position} if position else {})}
        data: list[str] = []
        try:
            for line in transport.stream("/v1/events", query, headers):
                field, _, value = line.partition(":")
                value = value[1:] if value.startswith(" ") else value
                if field == "id":
                    position = value
                elif field == "data":
                    data.append(value)
                elif line == "" and data:
                    yield {**json.loads("\n".join(data)), "position": position}
                    data = []
        except ParleyError as error:
            if not is_passing(error):
                raise
        time.sleep(RECONNECT_SECONDS)
