"""Proves that a call is this agent's own, where its registration asks for it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

#: The signature of a text. The standard library has no key pairs: a function of yours may.
Sign = Callable[[bytes], bytes]


def sign_with_secret(secret: str) -> Sign:
    """With the `hmacSecret` of the registration."""
    return lambda text: hmac.new(secret.encode(), text, hashlib.sha256).digest()


def sign_call(sign: Sign, method: str, path: str, headers: Mapping[str, str], body: Any, now: float) -> dict[str, str]:
    """A signature is valid for a minute, so every repetition of a call has its own. `now` is by the server's clock."""
    timestamp = datetime.fromtimestamp(now, timezone.utc).isoformat(timespec="milliseconds")
    signed = {
        "call": f"{method} {unquote(path)}",
        "timestamp": timestamp,
        "broadcast": headers.get("parley-broadcast"),
        "dialect": headers.get("parley-dialect"),
    }
    said = {name: value for name, value in signed.items() if value is not None}
    text = to_canonical_json(said if body is None else {**said, "body": body})
    return {"parley-timestamp": timestamp, "parley-signature": base64.b64encode(sign(text.encode())).decode()}


def to_canonical_json(value: Any) -> str:
    """Sorted keys, no white space, and numbers as JavaScript writes them."""
    if isinstance(value, Mapping):
        # By UTF-16, as JavaScript compares texts.
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_to_json(name)}:{to_canonical_json(value[name])}" for name in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_canonical_json, value)) + "]"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return _format_number(float(value)) if is_number else _to_json(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _format_number(value: float) -> str:
    """`1.0` is `1`; there is an exponent from 1e21 on, and below 1e-6."""
    if value == 0:
        return "0"
    number = Decimal(repr(value)).normalize()
    power = number.adjusted()
    if -7 < power < 21:
        return format(number, "f")
    mantissa = format(number.scaleb(-power), "f")
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"
