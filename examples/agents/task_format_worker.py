"""Does what a kitchen does, and asks before it sets a table. Python's standard library is enough."""

import time

from agent import call, run_forever

RESULTS = {
    "parse_recipe": {"title": "Leek pie", "ingredients": ["leek", "cream", "flour"]},
    "plan_menu": {"courses": ["soup", "leek pie", "apples"]},
    "order_food": {"ordered": True, "price": 31.5},
    "write_invitation": {"text": "You are invited to dine in the great hall."},
}
QUESTION = {
    "prompt": "For how many people, and with which cloth?",
    "schema": {
        "type": "object",
        "properties": {
            "servings": {"type": "integer", "minimum": 1, "description": "Six fit at the round table"},
            "cloth": {"enum": ["linen", "velvet", "none"]},
        },
        "required": ["servings"],
    },
}


def respond(task_id, status, **fields):
    call("POST", "/v1/messages", {"id": task_id, "status": status, **fields})


def work(message):
    task_id, kind = message["id"], message["type"]
    metadata = {"progress": 50, "message": f"Working on {kind}"}
    respond(task_id, "in_progress", metadata=metadata)
    time.sleep(1.5)
    if kind == "set_table":
        respond(task_id, "input_required", input=QUESTION)
        while call("GET", f"/v1/tasks/{task_id}")["state"] == "input_required":
            time.sleep(1)
        respond(task_id, "completed", result={"table": "set"})
        return
    artifacts = [{"name": "recipe.md", "type": "text/markdown", "content": "# Leek pie"}] if kind == "parse_recipe" else []
    respond(task_id, "completed", result=RESULTS[kind], artifacts=artifacts)


run_forever(work)
