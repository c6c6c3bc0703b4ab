"""Agents that take turns: lease, steps, tools, output and deliverable in one handler."""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from .errors import AbortReason, Fail, ParleyError, Suspended, TaskAborted, TaskFailed
from .transport import FOREVER, Transport, is_passing
from .turn_calls import TurnCalls

log = logging.getLogger("parley")

WAIT_SECONDS = 20
#: The server ends a turn after five minutes without a word.
HEARTBEAT_SECONDS = 60.0
DEADLINE_SECONDS = 900.0
LOST_CODES = {"stale_turn", "not_running", "turn_not_found"}
FORK_JOIN = "fork_join"
ENDS = {"success", "partial", "failed", "timeout", "canceled"}
FIRST_CHECK_SECONDS = 0.05
MAX_CHECK_SECONDS = 2.0

T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """One call of an agent, as a handler gets it."""

    id: str
    epoch: int
    channel: str
    payload: dict[str, Any]
    #: How deep it is in the chain of calls.
    depth: int


class TurnContext:
    """What a handler can do for its turn while it has it."""

    def __init__(self, calls: TurnCalls, turn: Turn, memory: dict[str, dict[str, Any]], reports: dict[str, Any]) -> None:
        #: Set when the turn is lost, stopped, or the worker stops.
        self.aborted = threading.Event()
        self._reason: AbortReason = "lost"
        self._calls = calls
        self._turn = turn
        self._memory = memory
        self._reports = reports
        self._uses: dict[str, int] = {}
        self._chunks = 0

    def abort(self, reason: AbortReason) -> None:
        self._reason = reason
        self.aborted.set()

    def check(self) -> None:
        if self.aborted.is_set():
            raise TaskAborted(self._turn.id, self._reason)

    def say(self, content: str, *, step: str = "answer") -> None:
        """Streams a piece of output to whoever reads along."""
        self.check()
        chunk = {"step_id": step, "chunk_type": "content", "content": content, "index": self._chunks}
        self._chunks += 1
        self._calls.say(self._turn.channel, chunk)

    def step(self, name: str, run: Callable[[], T], *, phase: str = "executing") -> T:
        """Runs a function once in the life of the turn: every later half gets its result back."""
        key = self._to_key(name)
        known = self._memory.get(key)
        if known is not None and "value" in known:
            return known["value"]
        self.check()
        self._calls.advance("step", {"step_id": _to_step_id(key), "phase": phase})
        value = run()
        self.check()
        self._calls.remember(key, {"value": value})
        return value

    def tool(self, target: str, args: dict[str, Any] | None = None, *, deadline: float = DEADLINE_SECONDS) -> Any:
        """Calls a tool. The turn is suspended until it has reported.

        Then the handler runs again, on any worker, and this call returns the result at once. What comes before it should
        stand in steps.
        """
        return self.tools([(target, args or {})], deadline=deadline)[0]

    def tools(self, calls: Sequence[tuple[str, dict[str, Any]]], *, deadline: float = DEADLINE_SECONDS) -> list[Any]:
        """Calls several tools beside each other."""
        wanted = [{"target": target, "tool": target, "args": args} for target, args in calls]
        keys = [self._to_key(f"tool {target}") for target, _ in calls]
        reports = self._call_all(wanted, keys, deadline)
        return [_take_result(self._memory[key]["call"]["callId"], report) for key, report in zip(keys, reports)]

    def fork(
        self, calls: Sequence[tuple[str, str]], *, deadline: float = DEADLINE_SECONDS, fail_fast: bool = False
    ) -> list[dict[str, Any]]:
        """Calls several agents, each with an instruction, and goes on when all have ended.

        Each result has `agent`, `status`, and `output` or `error`, in the order of the calls.
        """
        tasks = [{"target_strategy": "reuse", "target_ref": agent, "instruction": text} for agent, text in calls]
        args = {"tasks": tasks, "fail_fast": fail_fast, "deadline_seconds": max(1, deadline)}
        wanted = {"target": FORK_JOIN, "tool": FORK_JOIN, "args": args, "topic": f"cmd.sys.pmo.internal.{FORK_JOIN}"}
        report = self._call_all([wanted], [self._to_key(FORK_JOIN)], deadline)[0]
        result = (report["content"] or {}).get("result") or {}
        if "results" not in result:
            return _take_result(FORK_JOIN, report)
        return [self._read_joined(one) for one in result["results"]]

    def _read_joined(self, joined: dict[str, Any]) -> dict[str, Any]:
        card = joined.get("deliverable_card_id")
        content = self._calls.read_card(card) if card else None
        about = {"agent": joined.get("agent_id"), "turn_id": joined.get("agent_turn_id"), "status": joined["status"]}
        if joined["status"] == "success":
            return {**about, "output": content}
        return {**about, "error": (content or {}).get("error")}

    def card(self, type: str, content: dict[str, Any]) -> str:
        """Puts a card into the output of the turn."""
        self.check()
        id = self._calls.create_card(type, content)
        self._calls.append("out", id)
        return id

    def _call_all(self, wanted: list[dict[str, Any]], keys: list[str], deadline: float) -> list[dict[str, Any]]:
        """What all of them have reported. Until then the turn is suspended."""
        if all(self._has_reported(key) for key in keys):
            return [self._report_of(key) for key in keys]
        self.check()
        # A worker that died before it suspended the turn has left its commands.
        commands = [self._memory.get(key, {}).get("call") or self._prepare(one, key) for one, key in zip(wanted, keys)]
        waiting = [
            {"tool_call_id": command["callId"], "step_id": _to_step_id(key)} for command, key in zip(commands, keys)
        ]
        # First wait, then call: what a fast tool says to a turn that does not wait for it would be lost.
        self._calls.advance("suspend", {"waiting": waiting, "deadline_seconds": max(1, deadline)})
        for command in commands:
            self._calls.call_tool(command, self._turn.channel)
        raise Suspended()

    def _prepare(self, wanted: dict[str, Any], key: str) -> dict[str, Any]:
        call_id = f"{self._turn.id}-{_to_step_id(key)}"
        content = {"tool": wanted["tool"], "args": wanted["args"], "call": call_id}
        card = self._calls.create_card("tool.call", content)
        topic = {"topic": wanted["topic"]} if "topic" in wanted else {}
        call = {"target": wanted["target"], "tool": wanted["tool"], "callId": call_id, "cardId": card, **topic}
        # Whoever finds the turn suspended calls again, if the tool was not called.
        self._calls.remember(key, {"call": call})
        return call

    def _has_reported(self, key: str) -> bool:
        if "value" in self._memory.get(f"{key} result", {}):
            return True
        return self._memory.get(key, {}).get("call", {}).get("callId") in self._reports

    def _report_of(self, key: str) -> dict[str, Any]:
        kept = self._memory.get(f"{key} result", {})
        if "value" in kept:
            return kept["value"]
        row = self._reports[self._memory[key]["call"]["callId"]]
        value = {"status": row["status"], "content": self._calls.read_card(row["tool_result_card_id"])}
        self._calls.remember(f"{key} result", {"value": value})
        return value

    def _to_key(self, name: str) -> str:
        uses = self._uses[name] = self._uses.get(name, 0) + 1
        return name if uses == 1 else f"{name} {uses}"


Handler = Callable[[Turn, TurnContext], Any]


class TurnWorker:
    """Leases the turns of an agent, one at a time, and runs the handler for each."""

    def __init__(
        self, transport: Transport, of: tuple[str, str], handler: Handler, *, instance: str | None, drain: float
    ) -> None:
        self._transport = transport
        self._of = of
        self._handler = handler
        self._lease_id = instance or str(uuid.uuid4())
        self._drain = drain
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._leaser: int | None = None
        self._context: TurnContext | None = None

    def run(self, *, signals: bool = True) -> None:
        """Works until `stop`, or until SIGINT or SIGTERM where this is the main thread. Raises if Parley rejects the key."""
        if signals and threading.current_thread() is threading.main_thread():
            for name in (signal.SIGINT, signal.SIGTERM):
                signal.signal(name, lambda *_: self.stop())
        try:
            while not self._stopping.is_set():
                self._next()
        finally:
            self._ended.set()
            self._transport.close()

    def stop(self) -> None:
        """Leases no more. A running handler has the time of `drain`; then its turn goes to whoever leases it again."""
        self._stopping.set()
        if self._leaser is not None:
            self._transport.interrupt(self._leaser)
        threading.Thread(target=self._abort_late, name="parley-drain", daemon=True).start()

    def _abort_late(self) -> None:
        if not self._ended.wait(self._drain) and self._context is not None:
            self._context.abort("stopping")

    def _next(self) -> None:
        try:
            self._call_tools_again()
            self._leaser = threading.get_ident()
            body = {"wait": WAIT_SECONDS, "lease_id": self._lease_id}
            leased = self._transport.call("POST", "/v1/turns/lease", body, wait=WAIT_SECONDS, stop=self._stopping)
            self._leaser = None
            if leased:
                self._work(leased)
        except Exception as error:
            self._leaser = None
            if self._stopping.is_set():
                return
            if not is_passing(error):
                raise
            log.warning("no turn could be leased: %s", error)
            self._stopping.wait(1)

    def _call_tools_again(self) -> None:
        """A worker that died after it had suspended its turn may not have called the tools. To call them again does no harm."""
        head = self._transport.call("GET", f"/v1/agents/{quote(self._of[1], safe='')}/head", stop=self._stopping)
        if head["status"] != "suspended" or not head.get("active_agent_turn_id"):
            return
        turn_id = head["active_agent_turn_id"]
        view = TurnCalls(self._transport, self._of, turn_id, 0).view()
        waiting = {one["tool_call_id"] for one in view.get("waiting") or [] if one["status"] == "waiting"}
        calls = TurnCalls(self._transport, self._of, turn_id, view["turn_epoch"])
        for kept in calls.recall().values() if waiting else ():
            command = kept.get("call")
            if command is None or command["callId"] not in waiting:
                continue
            try:
                calls.call_tool(command, view.get("channel_id") or "public")
            except ParleyError as error:
                # It has been called, or the turn is over.
                if is_passing(error):
                    raise

    def _work(self, leased: dict[str, Any]) -> None:
        calls = TurnCalls(self._transport, self._of, leased["agent_turn_id"], leased["turn_epoch"])
        try:
            if any(row.get("message_type") == "turn" for row in leased["inbox"]):
                calls.advance("start")
            turn = _to_turn(calls.view(), calls)
            reports = {row["tool_call_id"]: row for row in leased["inbox"] if row.get("tool_call_id")}
            context = TurnContext(calls, turn, calls.recall(), reports)
            self._context = context
            with _Heartbeat(calls, context):
                end = self._run_handler(turn, context)
            if end is not None:
                _deliver(calls, end)
        except ParleyError as error:
            if error.code not in LOST_CODES:
                raise
        finally:
            self._context = None

    def _run_handler(self, turn: Turn, context: TurnContext) -> dict[str, Any] | None:
        """How the turn ends; nothing if it is suspended, or somebody else's."""
        try:
            return {"status": "success", "output": self._handler(turn, context)}
        except (Suspended, TaskAborted):
            return None
        except Exception as error:
            if context.aborted.is_set() or is_passing(error) or getattr(error, "code", None) in LOST_CODES:
                return None
            if not isinstance(error, (Fail, TaskFailed)):
                log.exception("the handler of the turn %s failed", turn.id)
            code = error.code if isinstance(error, Fail) else "agent_error"
            return {"status": "failed", "code": code, "error": str(error) or type(error).__name__}


class _Heartbeat:
    """While the handler runs: the turn is kept, and its loss is noticed."""

    def __init__(self, calls: TurnCalls, context: TurnContext) -> None:
        self._calls = calls
        self._context = context
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="parley-heartbeat", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _beat(self) -> None:
        while not self._over.wait(HEARTBEAT_SECONDS):
            try:
                self._calls.advance("step", {"step_id": "alive", "phase": "executing"}, retry_for=0)
            except ParleyError as error:
                if error.code in LOST_CODES:
                    self._context.abort("lost")
                    return
            except Exception as error:
                log.warning("turn %s has no heartbeat: %s", self._calls.turn_id, error)


def _deliver(calls: TurnCalls, end: dict[str, Any]) -> None:
    if end["status"] == "failed":
        content = {"error": end["error"]}
    else:
        content = end["output"] if isinstance(end["output"], dict) else {"result": end["output"]}
    card = calls.create_card("task.deliverable", {"turn": calls.turn_id, **content})
    body = {"status": end["status"], "deliverable_card_id": card, "output_box_id": calls.append("out", card)}
    if end["status"] == "failed":
        body = {**body, "error": end["error"][:4000], "error_code": end["code"][:64]}
    calls.advance("deliver", body)


def _to_turn(view: dict[str, Any], calls: TurnCalls) -> Turn:
    return Turn(
        id=calls.turn_id,
        epoch=calls.epoch,
        channel=view.get("channel_id") or "public",
        payload=view.get("payload") or {},
        depth=view.get("recursion_depth") or 0,
    )


def _to_step_id(key: str) -> str:
    """Ids have no spaces."""
    return re.sub(r"[^!-~]", "-", key)[:64]


def _take_result(call_id: str, report: dict[str, Any]) -> Any:
    content = report["content"] if isinstance(report["content"], dict) else {}
    if report["status"] == "success":
        return content["result"] if "result" in content else report["content"]
    why = content.get("error") or f"The tool reported {report['status']}."
    raise TaskFailed(call_id, "failed", report["status"], str(why))


class TurnHandle:
    """A turn that was called."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    def status(self) -> dict[str, Any]:
        return self._transport.call("GET", f"/v1/turns/{quote(self.id, safe='')}")

    def result(self, *, timeout: float | None = None) -> Any:
        """The content of the deliverable; otherwise a `TaskFailed`."""
        until = FOREVER if timeout is None else time.monotonic() + timeout
        turn = self.status()
        # The first looks are soon: most turns are short.
        pause = FIRST_CHECK_SECONDS
        while turn["status"] not in ENDS:
            if time.monotonic() >= until:
                raise TimeoutError(f"The turn {self.id} has not ended.")
            time.sleep(pause)
            pause = min(MAX_CHECK_SECONDS, pause * 1.5)
            turn = self.status()
        if turn["status"] != "success":
            message = turn.get("error") or f"The turn {self.id} ended as {turn['status']}."
            raise TaskFailed(self.id, "failed", turn["status"], message)
        return self._transport.call("GET", f"/v1/cards/{quote(turn['deliverable_card_id'], safe='')}")["content"]
