"""What holds though the network, the server or a key fails."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agents import URL, WorkerCase, admin, agent, register
from parley_sdk import Parley, ParleyError, Retry, connect
from parley_sdk.errors import ConnectionFailed


class Network:
    """Between an agent and Parley, as a test wants it."""

    def __init__(self, parley: Parley, seed: int | None = None) -> None:
        self.is_cut = False
        self.effects: list[str] = []
        self._transport = parley._transport
        self._call = self._transport._try
        self._random = random.Random(seed)
        self._one_in = 6 if seed is not None else 0
        self._transport._try = self._try  # type: ignore[method-assign]

    def _try(self, method: str, target: str, *rest: Any) -> tuple[Any, float | None]:
        cut = self._random.choice(["before", "after"]) if self._one_in and self._random.random() < 1 / self._one_in else ""
        if self.is_cut or cut == "before":
            return ConnectionFailed("the network is cut"), 0.05
        answer = self._call(method, target, *rest)
        if not isinstance(answer[0], Exception):
            self.effects.append(f"{method} {target}")
        return (ConnectionFailed("the network is cut"), 0.05) if cut or self.is_cut else answer


class GuaranteesTest(WorkerCase):
    def test_a_lease_is_renewed_for_as_long_as_the_handler_runs_without_a_word(self) -> None:
        network = Network(self.parley)
        worker = self.parley.worker(lease=1)

        @worker.on(self.capability)
        def handle(task, ctx):
            while sum(effect.endswith("/renew") for effect in network.effects) < 6:
                time.sleep(0.05)
            return task.attempt

        self.start(worker)
        self.assertEqual(self.requester.request(self.capability).result(timeout=30), 1)

    def test_a_lost_lease_ends_what_the_handler_does_though_the_server_is_silent(self) -> None:
        network = Network(self.parley)
        worker = self.parley.worker(lease=1)
        late: list[str] = []

        @worker.on(self.capability)
        def handle(task, ctx):
            if task.attempt > 1:
                return task.attempt
            network.is_cut = True
            ctx.aborted.wait(30)
            before = len(network.effects)
            try:
                ctx.step("late", lambda: late.append("step"))
            finally:
                late.extend(network.effects[before:])
                network.is_cut = False

        self.start(worker)
        handle = self.requester.request(self.capability)
        self.assertGreaterEqual(handle.result(timeout=30), 2)
        self.assertEqual(late, [])

    def test_calls_that_are_cut_before_and_after_they_take_effect_end_every_request_once(self) -> None:
        helper = f"py-{uuid.uuid4()}"
        doubler = agent(helper).worker()
        doubler.on(helper)(lambda task, ctx: task.input * 2)
        network = Network(self.parley, seed=1)
        Network(self.requester, seed=2)
        worker = self.parley.worker(lease=30)
        repeated: list[str] = []

        @worker.on(self.capability)
        def handle(task, ctx):
            def one():
                if f"PUT /v1/tasks/{task.id}/steps/one" in network.effects:
                    repeated.append(task.id)
                return 1

            first = ctx.step("one", one)
            ctx.progress(50)
            return first + ctx.call(helper, task.input)

        self.start(doubler)
        self.start(worker)
        handles = [self.requester.request(self.capability, index) for index in range(16)]
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(lambda handle: handle.result(timeout=60), handles))
        self.assertEqual(results, [1 + 2 * index for index in range(16)])
        self.assertEqual(repeated, [])
        told = [message["taskId"] for message in self.requester.inbox(forever=False) if message["kind"] == "result"]
        self.assertEqual(sorted(told), sorted(handle.id for handle in handles))

    def test_two_workers_share_the_tasks_and_each_task_is_done_once(self) -> None:
        done: list[list[str]] = [[], []]
        both = threading.Event()

        def handler(mine: list[str]):
            def handle(task, ctx):
                mine.append(task.id)
                if all(done):
                    both.set()
                both.wait(30)

            return handle

        for mine in done:
            worker = self.parley.worker(concurrency=2)
            worker.on(self.capability)(handler(mine))
            self.start(worker)
        handles = [self.requester.request(self.capability) for _ in range(20)]
        for handle in handles:
            handle.result(timeout=30)
        self.assertEqual(sorted(done[0] + done[1]), sorted(handle.id for handle in handles))

    def test_a_worker_that_stops_lets_its_handlers_end_and_takes_nothing_new(self) -> None:
        worker = self.parley.worker(concurrency=4)
        finish = threading.Event()

        @worker.on(self.capability)
        def handle(task, ctx):
            finish.wait(30)
            return "finished"

        thread = self.start(worker)
        handles = [self.requester.request(self.capability) for _ in range(3)]
        while any(handle.status()["state"] != "claimed" for handle in handles):
            time.sleep(0.02)
        worker.stop()
        late = self.requester.request(self.capability)
        finish.set()
        thread.join()
        states = [(handle.status()["state"], handle.status().get("result")) for handle in handles]
        self.assertEqual(states, [("completed", "finished")] * 3)
        self.assertEqual(late.status()["state"], "requested")

    def test_a_wrong_key_ends_every_call_and_every_worker_with_a_typed_error(self) -> None:
        wrong = connect(URL, "prl_default.nobody.wrong")
        worker = wrong.worker()
        worker.on("*")(lambda task, ctx: None)
        for call in (lambda: wrong.request("any"), lambda: next(wrong.inbox()), lambda: next(wrong.events()), worker.run):
            with self.assertRaises(ParleyError) as raised:
                call()
            self.assertEqual((raised.exception.status, raised.exception.code), (401, "unauthorized"))

    def test_a_key_that_ends_ends_the_worker_and_aborts_its_handlers(self) -> None:
        name, key = register(self.capability)
        worker = connect(URL, key).worker()
        aborted = threading.Event()

        @worker.on(self.capability)
        def handle(task, ctx):
            if ctx.aborted.wait(30):
                aborted.set()

        raised: list[ParleyError] = []

        def run() -> None:
            try:
                worker.run()
            except ParleyError as error:
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        handle = self.requester.request(self.capability, to=name)
        while handle.status()["state"] != "claimed":
            time.sleep(0.02)
        admin.call("POST", f"/v1/agents/{name}/key")
        thread.join()
        self.assertEqual([error.code for error in raised], ["unauthorized"])
        self.assertTrue(aborted.wait(5))

    def test_requests_end_once_though_the_server_is_killed_and_started_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder)
            self.addCleanup(lambda: server.kill())
            boss = connect(server.url, server.key)
            keys = {}
            for name, capabilities in {"asks": [], "works": ["double"]}.items():
                boss.call("PUT", f"/v1/agents/{name}", {"dialect": "native", "capabilities": capabilities})
                keys[name] = boss.call("POST", f"/v1/agents/{name}/key")["key"]
            worker = connect(server.url, keys["works"]).worker(concurrency=8)
            done: list[int] = []

            @worker.on("double")
            def double(task, ctx):
                done.append(task.input)
                if len(done) == 50:
                    threading.Thread(target=server.restart).start()
                return task.input * 2

            self.start(worker)
            requester = connect(server.url, keys["asks"])
            with ThreadPoolExecutor(16) as pool:
                results = list(pool.map(lambda index: requester.request("double", index).result(timeout=90), range(200)))
            self.assertEqual(results, [index * 2 for index in range(200)])
            worker.stop()


class Server:
    """A server of its own, which a test may kill."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process = self._start("0")
        self.key = open(f"{folder}/admin-key").read().strip()

    def _start(self, port: str) -> subprocess.Popen[str]:
        command = [*json.loads(os.environ["PARLEY_SERVER"]), "--port", port, "--data", self._folder]
        env = {name: value for name, value in os.environ.items() if name not in ("PARLEY_ADMIN_KEY", "NODE_TEST_CONTEXT")}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        said = ""
        while "Ctrl-C stops it." not in said:
            line = process.stdout.readline()
            assert line, f"the server ended: {said}"
            said += line
        self.url = re.search(r"listening on (http:\S+)", said)[1]
        return process

    def restart(self) -> None:
        self.kill()
        self._process = self._start(self.url.rsplit(":", 1)[1])

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()


if __name__ == "__main__":
    unittest.main()
