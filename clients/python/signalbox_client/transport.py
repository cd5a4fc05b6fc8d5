"""Sends requests and reads answers; sends again only what cannot do anything twice."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import ssl
import time
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import INVALID, UNREACHABLE, UNREADABLE, SignalboxError, error_of
from .stream import StreamEvent, read_events

DEFAULT_URL = "http://127.0.0.1:8080"
BACKOFF_FIRST_S = 0.2
BACKOFF_S_MAX = 5.0
#: Outlasts a runtime that starts again: the deadline ends it, and not the count.
ATTEMPTS_MAX = 20
#: After the first failure no try begins later than this.
RETRY_S_MAX = 30.0
#: A Retry-After beyond this is not waited for: the caller gets the error and can decide.
RETRY_AFTER_S_MAX = 30.0
#: Guards the caller's memory against something that answers without end.
ANSWER_BYTES_MAX = 64 * 1024 * 1024
#: The runtime says something every 15 s, if only that there is nothing new.
STREAM_SILENT_S_MAX = 45.0
#: Connections in a row that bring nothing new, until a stream gives up.
STREAM_TRIES_MAX = 10


class Omitted:
    """What a parameter is that was not given, where None is a value of its own."""

    def __repr__(self) -> str:
        return "OMIT"


OMIT = Omitted()

Query = Mapping[str, Union[str, int, bool, None]]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Query = field(default_factory=dict)
    headers: Mapping[str, Optional[str]] = field(default_factory=dict)
    body: Optional[bytes] = None
    content_type: str = "application/json"
    #: A second one has no second effect.
    repeatable: bool = False
    #: What makes a call repeatable; errors carry it.
    idempotency_key: Optional[str] = None
    #: An answer about a record is that call's own end: the same key would only replay it.
    record_is_final: bool = False
    #: How long the runtime may wait before it answers, on top of the time for a request.
    wait_s: float = 0.0
    #: Statuses beside 2xx that are no errors.
    accepts: Tuple[int, ...] = ()


class Transport:
    """What all operations share. A client holds no connection, and any thread may use it."""

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        timeout_s: float = 60.0,
        attempts_max: int = ATTEMPTS_MAX,
        retry_s: float = RETRY_S_MAX,
        tls: Optional[ssl.SSLContext] = None,
        parse_float: Callable[[str], Any] = float,
    ) -> None:
        """
        url: the runtime's address; else SIGNALBOX_URL, else the address of `signalbox dev`.
        key: what goes behind `Bearer`; else SIGNALBOX_KEY.
        timeout_s: for one request and its answer, beside what the runtime was asked to wait.
        attempts_max: requests in all, where one may be sent again; 1 = none is.
        retry_s: how long after the first failure the last of them may begin.
        tls: for https; the system's certificates by default.
        parse_float: makes numbers with a fraction, e.g. decimal.Decimal, which keeps their digits on both ways.
        """
        self.url = url or os.environ.get("SIGNALBOX_URL") or DEFAULT_URL
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is no http or https address")
        self._host = parts.hostname
        self._port = parts.port
        self._base = parts.path.rstrip("/")
        self._secure = parts.scheme == "https"
        self._tls = tls
        self._key = key or os.environ.get("SIGNALBOX_KEY")
        self._timeout_s = timeout_s
        self._attempts_max = attempts_max
        self._retry_s = retry_s
        self._parse_float = parse_float

    def _send(self, request: Request, timeout_s: Optional[float]) -> Any:
        """The answer's JSON as data, other text as it is, None for an empty one. Raises SignalboxError."""
        attempt = 1
        losses = _Losses(request)
        last_start: Optional[float] = None
        while True:
            try:
                return self._once(request, timeout_s)
            except SignalboxError as error:
                losses.note(error)
                now = time.monotonic()
                last_start = now + self._retry_s if last_start is None else last_start
                pause_s = max(error.retry_after_s or 0.0, backoff_s(attempt))
                over = attempt >= self._attempts_max or now + pause_s > last_start
                if over or not _may_repeat(request, error):
                    raise losses.told(error)
                time.sleep(pause_s)
            attempt += 1

    def _once(self, request: Request, timeout_s: Optional[float]) -> Any:
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s) + request.wait_s
        connection, response = self._open(request, deadline - time.monotonic())
        try:
            raw = self._read(connection, response, deadline)
        finally:
            connection.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        told = self._told(raw, headers.get("content-type", ""))
        if 200 <= response.status < 300 or response.status in request.accepts:
            if told is _UNREADABLE:
                raise SignalboxError(
                    UNREADABLE,
                    f"the answer {response.status} of {self.url} cannot be read",
                    request_id=headers.get("x-request-id"),
                    http_status=response.status,
                )
            return told
        raise error_of(response.status, told, headers)

    def _open(self, request: Request, timeout_s: float) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends the request and reads the head of its answer; whoever gets the connection closes it."""
        connection = self._connection(max(timeout_s, 0.001))
        try:
            connection.connect()
        except OSError as cause:
            connection.close()
            raise self._unreachable(cause, never_sent=True) from cause
        try:
            connection.request(request.method, self._target(request), request.body, self._headers(request))
            response = connection.getresponse()
            # http.client takes a head that broke off for one that ended; a whole one says how long its body is.
            if response.length is None and not response.chunked:
                raise ConnectionError("the answer broke off in its head")
            return connection, response
        except (OSError, http.client.HTTPException) as cause:
            connection.close()
            raise self._unreachable(cause) from cause

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        context = self._tls if self._tls is not None else ssl.create_default_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)

    def _target(self, request: Request) -> str:
        query = {name: _query_text(value) for name, value in request.query.items() if value is not None}
        return self._base + request.path + (f"?{urlencode(query)}" if query else "")

    def _headers(self, request: Request) -> Dict[str, str]:
        headers = {"Accept": "application/json", "Connection": "close"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        headers.update({name: value for name, value in request.headers.items() if value is not None})
        return headers

    def _read(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float
    ) -> bytes:
        chunks: List[bytes] = []
        size = 0
        try:
            while True:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError("timed out")
                if connection.sock is not None:
                    connection.sock.settimeout(left_s)
                chunk = response.read1(65_536)
                if not chunk:
                    # read1 takes a body that broke off for one that ended.
                    if response.length:
                        raise http.client.IncompleteRead(b"".join(chunks), response.length)
                    return b"".join(chunks)
                chunks.append(chunk)
                size += len(chunk)
                if size > ANSWER_BYTES_MAX:
                    raise SignalboxError(
                        UNREADABLE,
                        f"the answer of {self.url} is larger than {ANSWER_BYTES_MAX} bytes",
                        http_status=response.status,
                    )
        except (OSError, http.client.HTTPException) as cause:
            raise self._unreachable(cause) from cause

    def _told(self, raw: bytes, content_type: str) -> Any:
        if not raw:
            return None
        try:
            text = raw.decode("utf-8")
            if content_type.split(";")[0].strip().lower() != "application/json":
                return text
            return json.loads(text, parse_float=self._parse_float)
        except ValueError:
            return _UNREADABLE

    def _unreachable(self, cause: BaseException, never_sent: bool = False) -> SignalboxError:
        return SignalboxError(
            UNREACHABLE,
            f"no answer from {self.url}: {str(cause) or type(cause).__name__}",
            # Time does not make a certificate good.
            retryable=not isinstance(cause, ssl.SSLCertVerificationError),
            # A request that no runtime has seen may always be sent again.
            details={"never_sent": True} if never_sent else {},
        )

    def _follow(self, request: Request, after_seq: int, resume: Optional[Request]) -> Iterator[StreamEvent]:
        """The events of a call to its end, over as many connections as it takes.

        resume: how to come back; None = the Location of the first answer says it.
        """
        tries = 0
        seen = after_seq
        losses = _Losses(request)
        while True:
            try:
                for event in self._events(request, seen, resume is not None):
                    if isinstance(event, str):
                        resume = resume or Request("GET", f"{event}/stream", repeatable=True)
                        continue
                    # Whoever sends the same request again hears it all again.
                    if event.seq <= seen:
                        continue
                    tries = 0
                    seen = event.seq
                    yield event
                    if event.event in ("done", "error"):
                        return
                pause_s = BACKOFF_FIRST_S
            except _Over:
                return
            except SignalboxError as error:
                losses.note(error)
                if tries + 1 >= STREAM_TRIES_MAX or not _may_repeat(resume or request, error):
                    raise losses.told(error)
                pause_s = max(error.retry_after_s or 0.0, backoff_s(tries + 1))
            tries += 1
            if tries >= STREAM_TRIES_MAX:
                message = f"the stream of {self.url} broke off {tries} times and brought nothing new"
                broken = SignalboxError(UNREACHABLE, message, retryable=True)
                losses.note(broken)
                raise losses.told(broken)
            time.sleep(pause_s)
            request = resume or request

    def _events(self, request: Request, after_seq: int, resumes: bool) -> Iterator[Union[str, StreamEvent]]:
        """The call's path, where the answer names it, and then the events of one connection."""
        last = {"Last-Event-ID": str(after_seq)} if resumes and after_seq > 0 else {}
        headers = {**request.headers, **last, "Accept": "text/event-stream, application/json"}
        opened = Request(request.method, request.path, request.query, headers, request.body, request.content_type)
        connection, response = self._open(opened, max(self._timeout_s, STREAM_SILENT_S_MAX) + request.wait_s)
        try:
            location = response.getheader("location")
            if location is not None:
                yield location
            if response.status == 204:
                raise _Over
            if response.status != 200 or "text/event-stream" not in response.getheader("content-type", ""):
                raw = self._read(connection, response, time.monotonic() + self._timeout_s)
                named = {name.lower(): value for name, value in response.getheaders()}
                raise error_of(response.status, self._told(raw, named.get("content-type", "")), named)
            if connection.sock is not None:
                connection.sock.settimeout(STREAM_SILENT_S_MAX)
            yield from read_events(response, self._parse_float)
        except (OSError, http.client.HTTPException) as cause:
            raise self._unreachable(cause) from cause
        except (ValueError, KeyError) as cause:
            message = f"an event of {self.url} cannot be read: {cause}"
            raise SignalboxError(UNREADABLE, message, http_status=200) from cause
        finally:
            connection.close()


class _Over(Exception):
    """The reader has everything, the end included."""


_UNREADABLE = object()


def _may_repeat(request: Request, error: SignalboxError) -> bool:
    if not error.retryable or (request.record_is_final and error.execution_id is not None):
        return False
    if error.retry_after_s is not None and error.retry_after_s > RETRY_AFTER_S_MAX:
        return False
    # A refusal of the runtime that is retryable had no effect; of anything else nobody knows.
    return request.repeatable or not _leaves_open(error)


def _leaves_open(error: SignalboxError) -> bool:
    """Whether the request may have been acted on without an answer that says so."""
    if error.code == UNREACHABLE:
        return error.details.get("never_sent") is not True
    # What stands in front of a runtime may have passed the request on before it gave up.
    return error.code == UNREADABLE and (error.http_status < 300 or error.http_status >= 500)


class _Losses:
    """Goes through the failures of one undertaking and makes of the last one what its caller has to know."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._open = False
        self._sent = False

    def note(self, error: SignalboxError) -> None:
        self._open = self._open or _leaves_open(error)
        self._sent = self._sent or error.details.get("never_sent") is not True

    def told(self, error: SignalboxError) -> SignalboxError:
        key = self._request.idempotency_key
        error.idempotency_key = key
        if self._sent:
            error.details.pop("never_sent", None)
        # A record answers for itself.
        if not self._open or error.execution_id is not None or (key is None and self._request.repeatable):
            return error
        error.retryable = False
        error.details["may_have_executed"] = True
        if key is None:
            error.message += "; it may have been done: look before you ask again"
        else:
            error.message += f'; it may have run: ask again with idempotency_key="{key}", and it runs once'
        error.args = (f"{error.message} ({error.code})",)
        return error


def backoff_s(attempt: int) -> float:
    """Half fixed, half chance, so that many clients do not come back in step. `attempt` counts from 1."""
    full: float = min(BACKOFF_S_MAX, BACKOFF_FIRST_S * 2 ** (attempt - 1))
    return full / 2 + full / 2 * random.random()


def json_bytes(value: Any) -> bytes:
    """Whole numbers and Decimals keep their digits.

    Raises ValueError for NaN and infinities, TypeError for what is no JSON, SignalboxError for text that is no Unicode.
    """
    digits: Dict[str, str] = {}
    # json writes no number of another type: it gets a text that nobody can guess, which the digits then replace.
    mark = uuid.uuid4().hex

    def stand_in(one: Any) -> str:
        if not isinstance(one, Decimal):
            raise TypeError(f"{type(one).__name__} is no JSON")
        if not one.is_finite():
            raise ValueError(f"{one} is no JSON")
        digits[f"{mark}{len(digits)}"] = str(one)
        return f"{mark}{len(digits) - 1}"

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=stand_in)
    return _utf8(re.sub(f'"({mark}[0-9]+)"', lambda found: digits[found[1]], text) if digits else text)


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as cause:
        raise SignalboxError(
            INVALID,
            f"the request holds U+{ord(text[cause.start]):04X}, half of a surrogate pair, which is no text; "
            "decode the source with errors=\"replace\", or send bytes as base64",
            type="invalid_request",
        ) from cause


def document_body(document: Union[str, Mapping[str, Any]]) -> Tuple[bytes, str]:
    """Text is YAML (and so may be JSON); data becomes JSON."""
    if isinstance(document, str):
        return _utf8(document), "application/yaml"
    return json_bytes(document), "application/json"


def given(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Without those that are None or OMIT."""
    return {name: value for name, value in fields.items() if value is not None and value is not OMIT}


def present(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Without those that are OMIT; None is a value of its own."""
    return {name: value for name, value in fields.items() if value is not OMIT}


def in_path(value: str) -> str:
    return quote(_utf8(value), safe="")


def new_key() -> str:
    return f"py-{uuid.uuid4()}"


def _query_text(value: Union[str, int, bool, None]) -> str:
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    _utf8(text)
    return text
