"""LocalStack without Docker: functions are Node processes, and DynamoDB Local is one that runs already."""

import json
import os
import subprocess
import threading
import time
from collections import defaultdict
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue

from localstack import config
from localstack.runtime import hooks
from localstack.services.dynamodb.server import DynamodbServer
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

HOST = "127.0.0.1"
API = "/2018-06-01/runtime"
START_TIMEOUT_SECONDS = 60
# More concurrent starts slow each other down.
STARTS = threading.BoundedSemaphore(2)


class RuntimeApi(ThreadingHTTPServer):
    """The HTTP API that one process gets its invocations from."""

    daemon_threads = True

    def __init__(self):
        super().__init__((HOST, 0), RuntimeApiHandler)
        self.ready = Future()
        self.invocations = SimpleQueue()
        self.result = Future()
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def handle_error(self, *_args):
        """A process that is ended leaves a broken connection."""


class RuntimeApiHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        settle(self.server.ready, None)
        payload, headers = self.server.invocations.get()
        self.respond(200, payload, headers)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == f"{API}/init/error":
            settle(self.server.ready, StatusErrorException("the function did not load", payload=body))
        else:
            settle(self.server.result, (body, self.path.endswith("/error")))
        self.respond(202)

    def respond(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


def settle(future, value):
    try:
        if isinstance(value, Exception):
            future.set_exception(value)
        else:
            future.set_result(value)
    except InvalidStateError:
        pass


def to_error(error_type, message):
    return json.dumps({"errorType": error_type, "errorMessage": message}).encode()


class Process:
    """A function's code, loaded."""

    def __init__(self, function_version, environment):
        self.api = RuntimeApi()
        self.output = []
        self.output_end = threading.Event()
        code = function_version.config.code.get_unzipped_code_location()
        memory = function_version.config.memory_size
        self.child = subprocess.Popen(
            [os.environ["PARLEY_NODE"], f"--max-old-space-size={memory}", os.environ["PARLEY_RUNTIME_CLIENT"]],
            env={
                **environment,
                "AWS_LAMBDA_RUNTIME_API": f"{HOST}:{self.api.server_port}",
                "LAMBDA_TASK_ROOT": str(code),
                "PATH": os.environ["PATH"],
                "NODE_COMPILE_CACHE": os.environ["PARLEY_COMPILE_CACHE"],
            },
            cwd=code,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        for line in self.child.stdout:
            self.output.append(line)
            if line.startswith(b"END RequestId: "):
                self.output_end.set()
        error = to_error("Runtime.ExitError", f"Runtime exited with status {self.child.wait()}")
        settle(self.api.ready, StatusErrorException("the process ended", payload=error))
        settle(self.api.result, (error, True))
        self.output_end.set()
        self.api.shutdown()
        self.api.server_close()

    @property
    def is_running(self):
        return self.child.poll() is None

    def invoke(self, payload, timeout):
        self.output.clear()
        self.output_end.clear()
        self.api.result = Future()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": payload["invoke-id"],
            "Lambda-Runtime-Deadline-Ms": int((time.time() + timeout) * 1000),
            "Lambda-Runtime-Invoked-Function-Arn": payload["invoked-function-arn"],
            "Lambda-Runtime-Trace-Id": payload["trace-id"],
        }
        self.api.invocations.put((payload["payload"].encode(), headers))
        try:
            body, is_error = self.api.result.result(timeout)
        except FutureTimeoutError:
            self.end()
            return to_error("Sandbox.Timedout", f"Task timed out after {timeout:.2f} seconds"), True
        # What it printed comes another way than its result, and may come later.
        self.output_end.wait(1)
        return body, is_error

    def end(self):
        self.child.kill()


class ProcessPool:
    """The processes of one function: LocalStack starts an environment for each request of a burst, and a machine has few cores."""

    def __init__(self):
        self.changed = threading.Condition()
        self.environments = 0
        self.processes = []
        self.idle = []
        self.waiting = 0
        self.starting = 0
        self.failures = []

    def take(self, function_version, environment):
        with self.changed:
            self.waiting += 1
            try:
                while True:
                    if self.failures:
                        raise self.failures.pop()
                    process = self.take_idle()
                    if process:
                        return process
                    if self.starting < min(self.waiting, 2):
                        self.starting += 1
                        start = threading.Thread(target=self.start, args=(function_version, environment), daemon=True)
                        start.start()
                    self.changed.wait()
            finally:
                self.waiting -= 1

    def take_idle(self):
        while self.idle:
            process = self.idle.pop()
            if process.is_running:
                return process
            self.processes.remove(process)
        return None

    def start(self, function_version, environment):
        process, failure = None, None
        try:
            with STARTS:
                process = Process(function_version, environment)
                process.api.ready.result(START_TIMEOUT_SECONDS)
        except Exception as error:
            failure = error
            if process:
                process.end()
        with self.changed:
            self.starting -= 1
            if failure:
                self.failures.append(failure)
            else:
                self.processes.append(process)
                self.idle.append(process)
            self.changed.notify_all()

    def give_back(self, process):
        with self.changed:
            self.idle.append(process)
            self.changed.notify_all()

    def add_environment(self):
        with self.changed:
            self.environments += 1

    def remove_environment(self):
        """The last environments of a burst take their processes with them."""
        with self.changed:
            self.environments -= 1
            while len(self.processes) > self.environments:
                process = self.idle.pop(0) if self.idle else self.processes[0]
                self.processes.remove(process)
                process.end()


POOLS = defaultdict(ProcessPool)


class NodeExecutor(RuntimeExecutor):
    def __init__(self, id, function_version):
        super().__init__(id, function_version)
        self.environment = {}
        self.logs = b""

    @property
    def pool(self):
        return POOLS[self.function_version.config.internal_revision]

    def start(self, env_vars):
        self.environment = {name: str(value) for name, value in env_vars.items()}
        self.pool.add_environment()

    def stop(self):
        self.pool.remove_environment()

    def invoke(self, payload):
        process = self.pool.take(self.function_version, self.environment)
        try:
            body, is_error = process.invoke(payload, self.function_version.config.timeout)
            self.logs = b"".join(process.output)
        finally:
            self.pool.give_back(process)
        most = config.LAMBDA_LIMITS_MAX_FUNCTION_PAYLOAD_SIZE_BYTES
        if len(body) > most:
            message = f"Response payload size exceeded maximum allowed payload size ({most} bytes)."
            body, is_error = to_error("Function.ResponseSizeTooLarge", message), True
        return InvocationResult(payload["invoke-id"], body, is_error=is_error, logs=self.get_logs())

    def get_address(self):
        return HOST

    def get_endpoint_from_executor(self):
        return HOST

    def get_runtime_endpoint(self):
        return f"http://{HOST}"

    def get_logs(self):
        return self.logs.decode(errors="replace")

    @classmethod
    def prepare_version(cls, function_version):
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        pass


class NodeExecutorPlugin(RuntimeExecutorPlugin):
    name = "node"

    def load(self, *_args, **_kwargs):
        return NodeExecutor


@hooks.on_infra_start()
def use_running_dynamodb_local():
    """LocalStack would download DynamoDB Local and a Java. The port that it is given is that of one which runs."""
    DynamodbServer.start_dynamodb = lambda self: True
    DynamodbServer.stop_dynamodb = lambda self: None
