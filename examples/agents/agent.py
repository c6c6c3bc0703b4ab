"""One agent's calls to Parley, with the settings that it was started with."""

import datetime
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

URL, AGENT, KEY = (os.environ[name] for name in ("PARLEY_URL", "AGENT", "KEY"))
WAIT_SECONDS = 20
AGAIN_SECONDS = 0.5


class Refused(Exception):
    """A refusal, with the stable code that says what to do about it."""

    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code


def call(method, path, body=None):
    """For as long as Parley cannot be reached, every call is tried again: all of them may safely be repeated."""
    data = None if body is None else json.dumps(body).encode()
    while True:
        request = urllib.request.Request(URL + path, data, {"Authorization": f"Bearer {KEY}"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                problem = json.loads(error.read())
                raise Refused(problem["code"], problem["detail"]) from None
        except OSError:
            pass
        time.sleep(AGAIN_SECONDS)


def run_forever(work):
    """Claims one task after the other. A task that was cancelled or taken over is refused, and is no reason to stop."""
    while True:
        claimed = call("POST", "/v1/claims", {"wait": WAIT_SECONDS})
        if claimed.get("paused"):
            time.sleep(1)
        for task in claimed["tasks"]:
            try:
                work(task["message"])
            except Refused as refusal:
                print(f"{AGENT}: {refusal}", file=sys.stderr)


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def new_short_id():
    return f"msg_{uuid.uuid4().hex[:8]}"
