"""Does what is delegated to it, and asks a person when it is blocked. Python's standard library is enough."""

import time

from agent import AGENT, call, new_short_id, now, run_forever

sequence = 0


def send(to, kind, task_id, payload):
    global sequence
    sequence += 1
    call(
        "POST",
        "/v1/messages",
        {
            "version": "1.0.0",
            "msg_id": new_short_id(),
            "from": AGENT,
            "to": to,
            "timestamp": now(),
            "sequence": sequence,
            "type": kind,
            "correlation_id": task_id,
            "payload": payload,
        },
    )


def is_blocked(task_id):
    return call("GET", f"/v1/tasks/{task_id}")["state"] == "input_required"


def work(message):
    requester, task_id = message["from"], message["msg_id"]
    send(requester, "status-update", task_id, {"status": "in_progress", "progress": 0.3, "message": "Reading the code"})
    time.sleep(1)
    blocked = {"status": "blocked", "progress": 0.6, "message": "Which host may I use for the benchmark?"}
    send(requester, "status-update", task_id, {**blocked, "blockers": ["No benchmark host"]})
    while is_blocked(task_id):
        time.sleep(1)
    send(
        requester,
        "result",
        task_id,
        {
            "status": "success",
            "deliverables": {"files_modified": ["/src/router.ts"], "tests_added": [], "artifacts": []},
            "metrics": {"confidence": 0.9},
            "issues": [],
            "next_steps": ["Watch the latency"],
        },
    )


run_forever(work)
