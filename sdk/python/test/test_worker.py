"""What a worker and its requester do, in threads."""

from __future__ import annotations

import threading
import time
import unittest
import uuid

from agents import WorkerCase, agent
from parley_sdk import Fail, Retry, TaskFailed


class WorkerTest(WorkerCase):
    def test_completes_tasks_with_what_the_handler_returns(self) -> None:
        worker = self.parley.worker(concurrency=4)

        @worker.on(self.capability)
        def add(task, ctx):
            ctx.progress(50, "adding")
            return task.input["a"] + task.input["b"]

        self.start(worker)
        handles = [self.requester.request(self.capability, {"a": a, "b": 1}) for a in range(20)]
        self.assertEqual([handle.result(timeout=30) for handle in handles], list(range(1, 21)))

    def test_runs_coroutines(self) -> None:
        worker = self.parley.worker()

        @worker.on(self.capability)
        async def add(task, ctx):
            await ctx.progress(10)

            async def collect():
                return [1, 2]

            return await ctx.step("collect", collect)

        self.start(worker)
        self.assertEqual(self.requester.request(self.capability).result(timeout=30), [1, 2])

    def test_repeats_no_finished_step_and_gives_up_where_the_handler_says_so(self) -> None:
        worker = self.parley.worker()
        ran = []

        @worker.on(self.capability)
        def handle(task, ctx):
            ctx.step("collect", lambda: ran.append(task.attempt))
            if task.attempt == 1:
                raise Retry("rate_limited", after=0)
            raise Fail("no_such_thing", "There is none.")

        self.start(worker)
        with self.assertRaises(TaskFailed) as raised:
            self.requester.request(self.capability).result(timeout=30)
        self.assertEqual((raised.exception.code, str(raised.exception)), ("no_such_thing", "There is none."))
        self.assertEqual(ran, [1])

    def test_asks_its_requester_and_gives_subtasks_to_others(self) -> None:
        other = f"py-{uuid.uuid4()}"
        doubler = agent(other).worker()
        doubler.on(other)(lambda task, ctx: task.input * 2)
        worker = self.parley.worker()

        @worker.on(self.capability)
        def handle(task, ctx):
            number = ctx.ask("Which number?", {"type": "number"})
            return ctx.call(other, number)

        self.start(doubler)
        self.start(worker)
        self.assertEqual(self.requester.request(self.capability).result(timeout=30, on_question=lambda _: 21), 42)

    def test_learns_that_its_task_was_cancelled(self) -> None:
        worker = self.parley.worker()
        aborted = threading.Event()

        @worker.on(self.capability)
        def handle(task, ctx):
            if ctx.aborted.wait(30):
                aborted.set()

        self.start(worker)
        handle = self.requester.request(self.capability)
        while handle.status()["state"] != "claimed":
            time.sleep(0.05)
        handle.cancel()
        self.assertTrue(aborted.wait(20))

    def test_gives_back_what_it_has_not_finished_when_it_stops(self) -> None:
        first = self.parley.worker(drain=0)
        release = threading.Event()
        first.on(self.capability)(lambda task, ctx: release.wait(30))
        thread = threading.Thread(target=first.run)
        thread.start()
        handle = self.requester.request(self.capability)
        while handle.status()["state"] != "claimed":
            time.sleep(0.05)
        first.stop()
        while handle.status()["state"] != "requested":
            time.sleep(0.05)
        release.set()
        thread.join()
        second = self.parley.worker()
        second.on(self.capability)(lambda task, ctx: task.attempt)
        self.start(second)
        self.assertGreaterEqual(handle.result(timeout=30), 2)


if __name__ == "__main__":
    unittest.main()
