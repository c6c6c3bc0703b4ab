"""Claims tasks, runs a handler for each, and reports what comes of it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, TypeVar
from urllib.parse import quote

from .context import AsyncTaskContext, TaskContext
from .errors import ConnectionFailed, Fail, ParleyError, Retry, Suspended, TaskAborted, TaskFailed
from .load_input import load_cards
from .request import NATIVE
from .task import Task, to_task
from .transport import FOREVER, Transport, is_passing

log = logging.getLogger("parley")

#: One claim takes at most ten.
MAX_CLAIM = 10
CLAIM_WAIT = 20
#: A renewal may be late twice before the lease ends.
RENEWALS_PER_LEASE = 3
#: How soon a handler learns that its task was cancelled, if it asks.
CHECK_SECONDS = 2.0

LOST_CODES = {
    "not_holder",
    "stale_attempt",
    "task_ended",
    "task_expired",
    "cancelled",
    "task_not_found",
    "task_waiting",
}

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Worker:
    """Handlers run in threads; those that are coroutines, each in an event loop of its own."""

    def __init__(
        self,
        transport: Transport,
        *,
        concurrency: int = 8,
        drain: float = 30.0,
        lease: float | None = None,
        instance: str | None = None,
    ) -> None:
        self._transport = transport
        self._concurrency = concurrency
        self._drain = drain
        self._lease = lease
        self._instance = instance
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._running: dict[str, TaskContext] = {}
        self._stopping = threading.Event()
        self._claimed = threading.Event()
        self._rejection: ParleyError | None = None
        self._claimer: int | None = None
        self._aborted_claim: str | None = None
        self._changed = threading.Condition()

    def on(self, capability: str) -> Callable[[Handler], Handler]:
        """What is done for a capability. `*` takes what has no handler of its own."""

        def register(handler: Handler) -> Handler:
            if capability in self._handlers:
                raise ValueError(f"{capability} has a handler already.")
            self._handlers[capability] = handler
            return handler

        return register

    def run(self, *, signals: bool = True) -> None:
        """Works until `stop`, or until SIGINT or SIGTERM where this is the main thread."""
        if not self._handlers:
            raise ValueError("A worker needs a handler: @worker.on(capability).")
        if signals and threading.current_thread() is threading.main_thread():
            for name in (signal.SIGINT, signal.SIGTERM):
                signal.signal(name, lambda *_: self.stop())
        keeper = threading.Thread(target=self._keep_leases, name="parley-leases", daemon=True)
        keeper.start()
        self._claimer = threading.get_ident()
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="parley") as pool:
            while not self._stopping.is_set():
                free = self._wait_for_room()
                if free == 0:
                    continue
                for claimed in self._claim(free):
                    task = to_task(claimed)
                    context = TaskContext(task, self._transport)
                    with self._changed:
                        # A lease that ended unnoticed: the task is back, and the attempt before counts for nothing.
                        before = self._running.get(task.id)
                        if before is not None:
                            before.abort("lost")
                        self._running[task.id] = context
                    self._claimed.set()
                    pool.submit(self._handle, task, context)
            self._claimer = None
            self._finish()
        self._transport.close()
        if self._rejection is not None:
            raise self._rejection

    async def run_async(self) -> None:
        """The same in a program that has an event loop: ends with the worker, or when it is cancelled."""
        running = asyncio.ensure_future(asyncio.to_thread(self.run, signals=False))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stop()
            await running
            raise

    def stop(self) -> None:
        """Claims no more. `run` returns once the handlers have ended, or after the time to drain."""
        self._stopping.set()
        if self._claimer is not None:
            self._transport.interrupt(self._claimer)

    def _wait_for_room(self) -> int:
        with self._changed:
            free = self._concurrency - len(self._running)
            if free == 0:
                self._changed.wait(0.5)
            return free

    def _claim(self, free: int) -> list[dict[str, Any]]:
        """The first try keeps no receipt. A repetition asks for the tasks of the lost answer."""
        body = {
            "max": min(free, MAX_CLAIM),
            "wait": CLAIM_WAIT,
            "dialect": "native",
            "claimId": str(uuid.uuid4()),
            **({} if "*" in self._handlers else {"capabilities": list(self._handlers)}),
            **({} if self._lease is None else {"lease": self._lease}),
            **({} if self._instance is None else {"instance": self._instance}),
        }
        try:
            try:
                first = {**body, "receipt": False}
                return self._transport.call("POST", "/v1/claims", first, wait=CLAIM_WAIT, retry_for=0)["tasks"]
            except Exception as error:
                if self._stopping.is_set() or not is_passing(error):
                    raise
                log.warning("claim failed, trying again: %s", error)
                found = self._transport.call(
                    "POST", "/v1/claims", body, wait=CLAIM_WAIT, retry_for=FOREVER, stop=self._stopping
                )
                return found["tasks"]
        except Exception as error:
            if self._stopping.is_set():
                self._aborted_claim = body["claimId"]
                return []
            if not isinstance(error, ParleyError):
                raise
            self._reject(error)
            return []

    def _reject(self, error: ParleyError) -> None:
        """A wrong or ended key cannot get better. Whoever has it cannot say anything about its tasks any more."""
        log.error("Parley rejected the key or the claim: %s", error)
        self._rejection = error
        if error.status == 401:
            for context in list(self._running.values()):
                context.abort("lost")
        self.stop()

    def _handle(self, task: Task, context: TaskContext) -> None:
        try:
            self._report(task, context, self._run_handler(task, context))
        except Exception as error:
            log.error("report on task %s failed: %s", task.id, error)
        finally:
            with self._changed:
                if self._running.get(task.id) is context:
                    del self._running[task.id]
                self._changed.notify_all()

    def _run_handler(self, task: Task, context: TaskContext) -> dict[str, Any] | None:
        """What to say of the task; nothing if it is no longer this worker's, or waits for an answer."""
        handler = self._handlers.get(task.capability) or self._handlers.get("*")
        try:
            if handler is None:
                raise Fail("skill_missing", f"This worker has no handler for {task.capability}.")
            task = load_cards(self._transport, task)
            context.load(task)
            if inspect.iscoroutinefunction(handler):
                output = asyncio.run(handler(task, AsyncTaskContext(context)))
            else:
                output = handler(task, context)
            result = {"kind": "result", "output": output, **context.describe_result()}
            return None if context.aborted.is_set() else result
        except (Suspended, TaskAborted):
            return None
        except TaskFailed as error:
            # Every attempt gets the same subtask back.
            return _describe("subtask_failed", str(error), {"taskId": error.task_id, "code": error.code})
        except Retry as error:
            after = {} if error.after is None else {"retryAfterSeconds": error.after}
            return {**_describe(error.code, str(error), error.details), "retryable": True, **after}
        except Fail as error:
            return _describe(error.code, str(error), error.details)
        except ParleyError as error:
            if error.code in LOST_CODES:
                return None
            return {**_describe("internal_error", str(error)), "retryable": True}
        except Exception as error:
            log.exception("the handler of %s failed", task.capability)
            return {**_describe("internal_error", f"{type(error).__name__}: {error}"), "retryable": True}

    def _report(self, task: Task, context: TaskContext, said: dict[str, Any] | None) -> None:
        """Until it is accepted or the task is lost: what was done must not be done again because the server was away."""
        if said is None:
            return
        message = {**said, "taskId": task.id, "attempt": task.attempt}
        try:
            self._transport.call(
                "POST", "/v1/messages", message, headers=NATIVE, retry_for=FOREVER, stop=context.aborted
            )
        except ParleyError as error:
            if error.code in LOST_CODES or context.aborted.is_set():
                return
            if said["kind"] != "result" or error.status == 401:
                raise
            # The next attempt would return the same.
            self._report(task, context, _describe("invalid_result", f"Parley rejected the result: {error}"))
        except ConnectionFailed:
            if not context.aborted.is_set():
                raise

    def _keep_leases(self) -> None:
        """Renews the leases of what runs, and aborts what is no longer this worker's, though the server be silent."""
        leases: dict[TaskContext, _Lease] = {}
        while not self._stopping.is_set() or self._running:
            self._claimed.wait(min([CHECK_SECONDS, *(lease.seconds / RENEWALS_PER_LEASE for lease in leases.values())]))
            self._claimed.clear()
            running = list(self._running.values())
            leases = {context: leases.get(context) or self._measure(context.task) for context in running}
            for context, lease in leases.items():
                if time.monotonic() >= lease.until:
                    context.abort("lost")
                elif time.monotonic() >= lease.until - lease.seconds * (1 - 1 / RENEWALS_PER_LEASE):
                    self._renew(context, lease)
                elif lease.seconds > CHECK_SECONDS:
                    self._check(context)

    def _measure(self, task: Task) -> _Lease:
        until = datetime.fromisoformat(task.lease_until.replace("Z", "+00:00"))
        left = (until - datetime.now(timezone.utc)).total_seconds() - self._transport.clock_offset
        return _Lease(left if self._lease is None else min(left, self._lease))

    def _renew(self, context: TaskContext, lease: _Lease) -> None:
        task = context.task
        begun = time.monotonic()
        path = f"/v1/tasks/{quote(task.id, safe='')}/renew"
        try:
            self._transport.call("POST", path, {"attempt": task.attempt}, retry_for=0)
            lease.until = begun + lease.seconds
        except ParleyError as error:
            if error.code in LOST_CODES:
                context.abort("cancelled" if error.code == "cancelled" else "lost")
            elif error.status == 401:
                self._reject(error)
        except Exception as error:
            log.warning("lease of task %s could not be renewed: %s", task.id, error)

    def _check(self, context: TaskContext) -> None:
        task = context.task
        try:
            seen = self._transport.call("GET", f"/v1/tasks/{quote(task.id, safe='')}", retry_for=0)
        except Exception:
            return
        if seen["state"] == "cancelled":
            context.abort("cancelled")
        elif seen["attempt"] != task.attempt or seen["state"] == "requested":
            context.abort("lost")

    def _finish(self) -> None:
        until = time.monotonic() + self._drain
        with self._changed:
            while self._running and time.monotonic() < until:
                self._changed.wait(max(0.0, until - time.monotonic()))
            left = list(self._running.values())
        for context in left:
            context.abort("stopping")
            self._release(context.task.id, context.task.attempt)
        if self._aborted_claim is not None:
            self._give_back_claim(self._aborted_claim)

    def _give_back_claim(self, claim_id: str) -> None:
        """The server may have found tasks for a claim before it noticed that nobody waits for the answer."""
        body = {"claimId": claim_id, "dialect": "native", "capabilities": [], "domains": []}
        try:
            found = self._transport.call("POST", "/v1/claims", body, retry_for=5)["tasks"]
        except Exception as error:
            log.warning("the last claim could not be given back: %s", error)
            return
        for claimed in found:
            self._release(claimed["message"]["id"], claimed["attempt"])

    def _release(self, id: str, attempt: int) -> None:
        try:
            self._transport.call("POST", f"/v1/tasks/{quote(id, safe='')}/release", {"attempt": attempt}, retry_for=5)
        except Exception as error:
            log.warning("task %s could not be given back: %s", id, error)


def _describe(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "kind": "failure",
        "code": code,
        "message": message[:4000],
        "retryable": False,
        **({"details": details} if details else {}),
    }


@dataclass
class _Lease:
    seconds: float
    #: By a clock that nobody sets.
    until: float = 0.0

    def __post_init__(self) -> None:
        self.seconds = max(0.5, self.seconds)
        self.until = time.monotonic() + self.seconds
