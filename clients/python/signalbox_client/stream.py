"""Reads a call's stream of Server-Sent Events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any, Callable, Iterator, Optional

#: The record of a call with its whole result is one line.
LINE_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class StreamEvent:
    """One event of a call."""

    #: `start`, `stdout`, `stderr`, `progress`, `partial`, `log`, `emit`, `approval`, `gap`; the last is `done` or
    #: `error`.
    event: str
    #: Grows; whoever has it can come back for what follows.
    seq: int
    #: RFC 3339; None for a gap.
    ts: Optional[str]
    #: By event, as the API's document tells it; of `done` and `error` the call's record, of `gap` the numbers `from`
    #: and `to`.
    data: Any


def read_events(response: HTTPResponse, parse_float: Callable[[str], Any]) -> Iterator[StreamEvent]:
    """Until the connection ends. Raises OSError or HTTPException where it breaks."""
    name = ""
    seq = 0
    data = ""
    while True:
        raw = response.readline(LINE_BYTES_MAX)
        if not raw:
            return
        if not raw.endswith(b"\n"):
            # A part of a line, at the end of a connection that broke, or of a line that nobody should send.
            raise ConnectionError("the stream broke off in the middle of a line")
        line = raw.decode("utf-8").rstrip("\r\n")
        if line == "":
            if name != "" and data != "":
                yield _event(name, seq, json.loads(data, parse_float=parse_float))
            name, data = "", ""
        elif line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            data += line[6:]
        elif line.startswith("id: "):
            seq = int(line[4:])


def _event(name: str, seq: int, told: Any) -> StreamEvent:
    if name == "gap":
        return StreamEvent(name, seq, None, told)
    return StreamEvent(name, seq, told["ts"], told["data"])
