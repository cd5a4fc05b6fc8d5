"""The one exception of this client."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

#: Codes of this client's own, beside those of the API's error table.
UNREACHABLE = "unreachable"
UNREADABLE = "unreadable_answer"
#: The API's own code, for what cannot even be written down.
INVALID = "invalid_input"


class SignalboxError(Exception):
    """A request was not served, a call did not end well, or no answer came.

    `code` is stable and for programs; `message` is for people and names the next step.
    """

    code: str
    message: str
    type: str
    #: True where the same request may be sent again: it is safe, even under a new key, and it can help. Of a call whose
    #: request may have arrived it is False, and `details["may_have_executed"]` is True: ask again with
    #: `idempotency_key=error.idempotency_key`, and it runs once.
    retryable: bool
    details: Dict[str, Any]
    #: Names the request in the runtime's log and audit; None where no answer came.
    request_id: Optional[str]
    #: Set where the ledger has a record of the call.
    execution_id: Optional[str]
    #: Under which a call was asked for: the caller's own, or the one that this client made.
    idempotency_key: Optional[str]
    #: The state in which the call ended or stopped; set for the end of a call that was waited for.
    status: Optional[str]
    #: Where and how long the call ran; set together with `status`.
    execution: Optional[Dict[str, Any]]
    #: 0 where no answer came.
    http_status: int
    #: Seconds after which it is worth trying again, where the runtime names them.
    retry_after_s: Optional[float]

    def __init__(
        self,
        code: str,
        message: str,
        *,
        type: str = "runtime",
        retryable: bool = False,
        details: Optional[Dict[str, Any]] = None,
        request_id: Optional[str] = None,
        execution_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        status: Optional[str] = None,
        execution: Optional[Dict[str, Any]] = None,
        http_status: int = 0,
        retry_after_s: Optional[float] = None,
    ) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.type = type
        self.retryable = retryable
        self.details = {} if details is None else details
        self.request_id = request_id
        self.execution_id = execution_id
        self.idempotency_key = idempotency_key
        self.status = status
        self.execution = execution
        self.http_status = http_status
        self.retry_after_s = retry_after_s


def error_of(http_status: int, told: Any, headers: Mapping[str, str]) -> SignalboxError:
    """The error of an answer; what is no answer of Signalbox is told as one that cannot be read."""
    retry_after_s = _seconds(headers.get("retry-after"))
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str):
        return SignalboxError(
            UNREADABLE,
            f"the answer {http_status} is none of Signalbox; is this its address?",
            # What stands in front of a runtime answers so while the runtime is away.
            retryable=http_status in (429, 502, 503, 504),
            request_id=headers.get("x-request-id"),
            http_status=http_status,
            retry_after_s=retry_after_s,
        )
    return SignalboxError(
        error["code"],
        str(error.get("message", "")),
        type=str(error.get("type", "runtime")),
        retryable=error.get("retryable") is True,
        details=error.get("details"),
        request_id=error.get("request_id"),
        execution_id=told.get("execution_id"),
        status=told.get("status"),
        execution=told.get("execution"),
        http_status=http_status,
        retry_after_s=retry_after_s,
    )


def _seconds(text: Optional[str]) -> Optional[float]:
    try:
        seconds = float(text) if text is not None else None
    except ValueError:
        return None
    return seconds if seconds is not None and 0 <= seconds < float("inf") else None
