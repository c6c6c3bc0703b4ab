"""The same as worker.ts, in Python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "sdk" / "python"))

from parley_sdk import connect  # noqa: E402

capability, helper, log = sys.argv[1:4]
worker = connect().worker(lease=1, concurrency=2)


def tell(step, value):
    with open(log, "a") as file:
        file.write(f"run {step}\n")
    return value


@worker.on(capability)
def handle(task, ctx):
    ctx.progress(10, "begun")
    one = ctx.step("one", lambda: tell("one", 1))
    many = ctx.ask("How many?", {"type": "number"})
    doubled = ctx.call(helper, many)
    return ctx.step("sum", lambda: tell("sum", one + doubled))


worker.run()
