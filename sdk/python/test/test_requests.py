"""Batches, graphs, artifacts, events, broadcasts, and programs with an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
import uuid

from agents import WorkerCase, agent
from parley_sdk import AsyncParley, Fail


class RequestsTest(WorkerCase):
    def test_settles_each_task_of_a_batch(self) -> None:
        worker = self.parley.worker()

        @worker.on(self.capability)
        def handle(task, ctx):
            if task.input == 2:
                raise Fail("odd_one", "Not this one.")
            return task.input * 10

        self.start(worker)
        batch = self.requester.batch([{"capability": self.capability, "input": number} for number in (1, 2, 3)])
        settled = [one.error.code if one.error else one.value for one in batch.results()]
        self.assertEqual(settled, [10, "odd_one", 30])

    def test_gives_the_nodes_of_a_graph_the_results_of_those_before(self) -> None:
        worker = self.parley.worker()
        worker.on(self.capability)(lambda task, ctx: task.input.get("n", dict(ctx.dependencies)))
        self.start(worker)
        graph = self.requester.graph(
            {
                "one": {"capability": self.capability, "input": {"n": 1}},
                "two": {"capability": self.capability, "input": {"n": 2}},
                "both": {"capability": self.capability, "after": ["one", "two"], "priority": "critical"},
            }
        )
        self.assertEqual(graph.results(), {"one": 1, "two": 2, "both": {"one": 1, "two": 2}})

    def test_names_limits_and_shows_what_waits_for_them(self) -> None:
        limits = [{"key": f"oven-{uuid.uuid4()}", "concurrency": 1}]
        release = threading.Event()
        worker = self.parley.worker(concurrency=5)
        worker.on(self.capability)(lambda task, ctx: release.wait(60))
        self.start(worker)
        handles = [self.requester.request(self.capability, limits=limits) for _ in range(2)]
        until = time.monotonic() + 30
        reasons: list[str] = []
        while "concurrency" not in reasons and time.monotonic() < until:
            reasons = [handle.status().get("waitsForLimit", {}).get("reason", "") for handle in handles]
            time.sleep(0.05)
        self.assertEqual(sorted(reasons), ["", "concurrency"])
        release.set()
        self.assertEqual([handle.result(timeout=60) for handle in handles], [True, True])

    def test_brings_artifacts_with_a_result(self) -> None:
        worker = self.parley.worker()

        @worker.on(self.capability)
        def handle(task, ctx):
            ctx.attach("notes.txt", "text/plain", "Grüße")
            ctx.attach("data.bin", "application/octet-stream", bytes(range(256)))

        self.start(worker)
        handle = self.requester.request(self.capability)
        handle.result(timeout=30)
        self.assertEqual(sorted(one["name"] for one in handle.artifacts()), ["data.bin", "notes.txt"])
        self.assertEqual(handle.artifact("data.bin"), bytes(range(256)))
        self.assertEqual(handle.artifact("notes.txt").decode(), "Grüße")

    def test_iterates_over_events(self) -> None:
        cursor = self.requester.call("GET", "/v1/events", query={"limit": 1})["cursor"]
        worker = self.parley.worker()
        worker.on(self.capability)(lambda task, ctx: 1)
        self.start(worker)
        handle = self.requester.request(self.capability)
        for event in self.requester.events(["task.completed"], after=cursor):
            self.assertEqual(event["data"]["taskId"], handle.id)
            break

    def test_broadcasts_to_the_agents_of_a_capability(self) -> None:
        capability = f"py-{uuid.uuid4()}"
        hearer = agent(capability)
        agent(role="coordinator").broadcast(f"capability:{capability}", {"hello": 1})
        message = next(hearer.inbox())
        self.assertEqual((message["kind"], message["content"]), ("message", {"hello": 1}))

    def test_requests_and_works_in_an_event_loop(self) -> None:
        worker = self.parley.worker(concurrency=4)

        @worker.on(self.capability)
        async def handle(task, ctx):
            await ctx.progress(50)
            return await ctx.step("double", lambda: task.input * 2)

        async def live() -> list[int]:
            working = asyncio.create_task(worker.run_async())
            parley = AsyncParley(self.requester)
            handles = [await parley.request(self.capability, number) for number in range(10)]
            results = await asyncio.gather(*(handle.result(timeout=30) for handle in handles))
            worker.stop()
            await working
            return results

        self.assertEqual(asyncio.run(live()), [number * 2 for number in range(10)])


if __name__ == "__main__":
    unittest.main()
