"""Turns as one handler, and agents that prove who they are."""

from __future__ import annotations

import threading
import unittest
import uuid

from agents import URL, admin, agent, register

from parley_sdk import ParleyError, TaskFailed, TurnWorker, connect
from parley_sdk.signing import to_canonical_json


class TurnCase(unittest.TestCase):
    def ground(self) -> tuple[str, object]:
        name, key = register(dialect="common-ground")
        return name, connect(URL, key)

    def start(self, worker: TurnWorker) -> None:
        thread = threading.Thread(target=worker.run)
        thread.start()

        def end() -> None:
            worker.stop()
            thread.join()

        self.addCleanup(end)

    def start_tool(self) -> str:
        tool = f"tool-{uuid.uuid4().hex[:8]}"
        registration = {"target_subject": f"cmd.tool.{tool}.execute", "parameters": {"type": "object"}}
        worker = agent(tool).worker()
        admin.call("PUT", f"/v1/tools/{tool}", registration)
        worker.on("*")(lambda task, ctx: {"doubled": 2 * task.input["a"]})
        thread = threading.Thread(target=worker.run)
        thread.start()

        def end() -> None:
            worker.stop()
            thread.join()

        self.addCleanup(end)
        return tool

    def test_suspends_for_its_tools_repeats_no_step_and_is_delivered_once(self) -> None:
        tool = self.start_tool()
        name, merlin = self.ground()
        ran: list[str] = []

        def handle(turn, ctx):
            first = ctx.step("think", lambda: ran.append("think") or turn.payload["question"])
            doubled = ctx.tool(tool, {"a": first})["doubled"]
            both = ctx.tools([(tool, {"a": doubled}), (tool, {"a": 1})])
            ctx.say("It is ")
            return {"answer": both[0]["doubled"], "other": both[1]["doubled"]}

        self.start(merlin.turns(handle))
        _, caller = self.ground()
        result = caller.call_agent(name, {"question": 10}).result(timeout=60)
        self.assertEqual((result["answer"], result["other"], ran), (40, 2, ["think"]))

    def test_forks_to_other_agents_and_joins_what_they_deliver(self) -> None:
        (careful, scout), (hasty, other), (lead, leader) = self.ground(), self.ground(), self.ground()
        self.start(scout.turns(lambda turn, ctx: {"seen": turn.payload["instruction"]}))

        def fail(turn, ctx):
            raise RuntimeError("Too fast.")

        self.start(other.turns(fail))

        def handle(turn, ctx):
            return {"results": ctx.fork([(careful, "north"), (hasty, "south")])}

        self.start(leader.turns(handle))
        _, caller = self.ground()
        north, south = caller.call_agent(lead, {}).result(timeout=60)["results"]
        self.assertEqual((north["agent"], north["output"]["seen"]), (careful, "north"))
        self.assertEqual((south["status"], south["error"]), ("failed", "Too fast."))

    def test_whose_handler_raises_ends_as_failed_with_its_reason(self) -> None:
        name, merlin = self.ground()

        def handle(turn, ctx):
            raise RuntimeError("No magic left.")

        self.start(merlin.turns(handle))
        _, caller = self.ground()
        with self.assertRaisesRegex(TaskFailed, "No magic left"):
            caller.call_agent(name, {}).result(timeout=60)

    def test_a_worker_that_stops_leaves_its_turn_to_the_next_one(self) -> None:
        name, merlin = self.ground()
        begun = threading.Event()

        def hold(turn, ctx):
            begun.set()
            ctx.aborted.wait(30)
            ctx.check()

        first = merlin.turns(hold, instance="one", drain=0)
        thread = threading.Thread(target=first.run)
        thread.start()
        _, caller = self.ground()
        turn = caller.call_agent(name, {})
        self.assertTrue(begun.wait(30))
        first.stop()
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.start(merlin.turns(lambda turn, ctx: {"text": "again"}, instance="one"))
        self.assertEqual(turn.result(timeout=60)["text"], "again")


class SigningCase(unittest.TestCase):
    def test_an_agent_that_must_sign_requests_and_works_with_a_secret(self) -> None:
        secret, capability = uuid.uuid4().hex, f"py-{uuid.uuid4()}"
        signed = {"hmacSecret": secret, "signing": "enforce"}
        _, key = register(capability, **signed)
        worker = connect(URL, key, hmac_secret=secret).worker()

        @worker.on(capability)
        def handle(task, ctx):
            ctx.progress(50, "half – way")
            ctx.set_confidence(0.5)
            ctx.set_evidence([{"name": "The register"}], citations=[{"text": "é"}])
            return ctx.step("keep", lambda: {**task.input, "ratio": 0.1 + 0.2, "tiny": 1e-7})

        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            _, other = register(**signed)
            requester = connect(URL, other, hmac_secret=secret)
            handle = requester.request(capability, {"ü": 1.0, "b": [1.5, 2e21], "a": None})
            result = handle.result(timeout=60)
            self.assertEqual((result["ü"], result["ratio"]), (1, 0.1 + 0.2))
            seen = admin.call("GET", f"/v1/tasks/{handle.id}", query={"dialect": "agent-os"})
            self.assertEqual(seen["evidence"]["sources"], [{"name": "The register"}])
            self.assertEqual(seen["evidence"]["confidence"], 50)
            with self.assertRaises(ParleyError) as refused:
                connect(URL, other).request(capability)
            self.assertEqual(refused.exception.code, "bad_signature")
        finally:
            worker.stop()
            thread.join()

    def test_numbers_and_names_are_written_as_javascript_does(self) -> None:
        written = {1.0: "1", 1e21: "1e+21", 1.5e-7: "1.5e-7", 0.00001: "0.00001", 1.25e-6: "0.00000125"}
        written.update({123.456: "123.456", 1.2345678901234567e20: "123456789012345670000", -0.0: "0", 7: "7"})
        for value, text in written.items():
            self.assertEqual(to_canonical_json(value), text)
        self.assertEqual(to_canonical_json({"b": 1, "a": [True, None, "ü"]}), '{"a":[true,null,"ü"],"b":1}')


if __name__ == "__main__":
    unittest.main()
