"""What can go wrong, for requesters and for handlers."""

from __future__ import annotations

from typing import Any, Literal

AbortReason = Literal["cancelled", "lost", "stopping"]


class ParleyError(Exception):
    """A request that Parley rejected. `code` never changes its meaning."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.problem = problem
        self.code: str = problem.get("code", "unknown")
        self.retryable: bool = problem.get("retryable") is True
        self.issues: list[dict[str, str]] = problem.get("issues") or []
        super().__init__(problem.get("detail") or f"Parley answered {status}.")


class ConnectionFailed(Exception):
    """Parley gave no usable answer for as long as the call was repeated."""


class Retry(Exception):
    """Raised by a handler: the attempt failed, and the next one may succeed."""

    def __init__(
        self, code: str, message: str | None = None, *, after: float | None = None, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message or code)
        self.code = code
        self.after = after
        self.details = details


class Fail(Exception):
    """Raised by a handler: the task failed for good."""

    def __init__(self, code: str, message: str | None = None, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(message or code)
        self.code = code
        self.details = details


class TaskAborted(Exception):
    """Raised in a handler by the next call of its context: nothing that it still does for the task counts."""

    def __init__(self, task_id: str, reason: AbortReason) -> None:
        super().__init__(f"The task {task_id} is {reason}.")
        self.task_id = task_id
        self.reason: AbortReason = reason


class TaskFailed(Exception):
    """How a requested task ended, if not with a result."""

    def __init__(self, task_id: str, status: str, code: str, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.status = status
        self.code = code
        self.details = details


class Suspended(BaseException):
    """Ends an attempt that waits for an answer. No handler should catch it, so it is no `Exception`."""
