"""For programs with an event loop: the same calls in threads of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from .request import RequestHandle

if TYPE_CHECKING:
    from . import Parley


#: As many calls may wait at the same time; the pool of an event loop has a few threads only.
MAX_WAITS = 96
_pool = ThreadPoolExecutor(MAX_WAITS, thread_name_prefix="parley-async")


async def _in_thread(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(_pool, partial(call, *args, **options))


class AsyncRequestHandle:
    def __init__(self, handle: RequestHandle) -> None:
        self._handle = handle
        self.id = handle.id

    async def result(
        self, *, timeout: float | None = None, on_question: Callable[[dict[str, Any]], Any] | None = None
    ) -> Any:
        return await _in_thread(self._handle.result, timeout=timeout, on_question=on_question)

    async def status(self, *, wait: float = 0) -> dict[str, Any]:
        return await _in_thread(self._handle.status, wait=wait)

    async def cancel(self) -> dict[str, Any]:
        return await _in_thread(self._handle.cancel)

    async def answer(self, input: Any) -> dict[str, Any]:
        return await _in_thread(self._handle.answer, input)


class AsyncParley:
    """`AsyncParley(connect())`: a connection whose calls are awaited."""

    def __init__(self, parley: Parley) -> None:
        self._parley = parley

    async def request(self, capability: str, input: Any = None, **options: Any) -> AsyncRequestHandle:
        handle = await _in_thread(lambda: self._parley.request(capability, input, **options))
        return AsyncRequestHandle(handle)

    async def send(self, to: str, content: Any, **options: Any) -> dict[str, Any]:
        return await _in_thread(lambda: self._parley.send(to, content, **options))

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        return await _in_thread(lambda: self._parley.call(method, path, body, **options))

    async def inbox(self) -> AsyncIterator[dict[str, Any]]:
        messages = self._parley.inbox()
        while True:
            yield await _in_thread(next, messages)
