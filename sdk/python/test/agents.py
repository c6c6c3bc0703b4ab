"""Agents on the server that PARLEY_URL and PARLEY_ADMIN_KEY name, as test/python.test.ts sets them."""

from __future__ import annotations

import os
import sys
import threading
import unittest
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from parley_sdk import Parley, ParleyError, Worker, connect  # noqa: E402

URL = os.environ["PARLEY_URL"]
admin = connect(URL, os.environ["PARLEY_ADMIN_KEY"])


def register(*capabilities: str, **registration: object) -> tuple[str, str]:
    name = f"py-{uuid.uuid4().hex[:12]}"
    body = {"dialect": "native", "capabilities": list(capabilities), **registration}
    admin.call("PUT", f"/v1/agents/{name}", body)
    return name, admin.call("POST", f"/v1/agents/{name}/key")["key"]


def agent(*capabilities: str, **registration: object) -> Parley:
    return connect(URL, register(*capabilities, **registration)[1])


class WorkerCase(unittest.TestCase):
    """A requester, and an agent with a capability that nobody else has."""

    def setUp(self) -> None:
        self.capability = f"py-{uuid.uuid4()}"
        self.requester = agent()
        self.parley = agent(self.capability)

    def start(self, worker: Worker) -> threading.Thread:
        def run() -> None:
            try:
                worker.run()
            except ParleyError:
                pass

        thread = threading.Thread(target=run)
        thread.start()

        def end() -> None:
            worker.stop()
            thread.join()

        self.addCleanup(end)
        return thread
