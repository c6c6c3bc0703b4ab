"""Knows facts, and is often busy: attempts fail and are repeated, and some tasks fail for good."""

import random
import time

from parley_sdk import Fail, Retry, connect

worker = connect().worker(concurrency=4)


@worker.on("intel.facts")
def find_facts(task, ctx):
    time.sleep(0.4 + random.random())
    luck = random.random()
    if luck < 0.25:
        raise Retry("library_busy", "All reading desks are taken.", after=2)
    if luck < 0.29:
        raise Fail("book_lost", f"The book about {task.input['topic']} is lost.")
    return {"aspect": task.input["aspect"], "text": f"Much is said about {task.input['topic']}."}


worker.run()
