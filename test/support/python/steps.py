"""What the tests of the Python client do in Python: one step a run, its arguments as JSON, its outcome as one line of JSON."""

import json
import ssl
import sys
import typing
from decimal import Decimal

import signalbox_client
from signalbox_client import Client, SignalboxError, models


def invoke(url, key, tool, input, **more):
    call = Client(url, key).invoke(tool=tool, input=input, **more)
    output = call.get("output")
    return {
        "id": call["execution_id"],
        "status": call["status"],
        "key": call["idempotency_key"],
        "output": output,
        "types": {name: type(value).__name__ for name, value in output.items()} if isinstance(output, dict) else None,
    }


def from_environment():
    return Client().invoke(tool="echo", input={"from": "environment"})["output"]


def fractions(url, key, approval_id):
    told = Client(url, key, parse_float=Decimal).get_approval(approval_id)["args"]["fraction"]
    return [type(told).__name__, str(told)]


def fractions_sent(url, key):
    input = {"fraction": Decimal("0.12345678901234567890123"), "zeros": Decimal("1.50"), "far": Decimal("1E+400")}
    Client(url, key).invoke(tool="count", input=input)


def surrogates(url, key):
    client = Client(url, key)
    refusals = []
    for attempt in (
        lambda: client.invoke(tool="count", input={"text": "half \ud83d of it"}),
        lambda: client.get_execution("\ud83d"),
        lambda: client.list_executions(tool="\ud83d"),
        lambda: client.register_tool("\ud83d"),
    ):
        try:
            attempt()
        except SignalboxError as error:
            refusals.append([error.code, "U+D83D" in error.message, error.retryable])
    return refusals


def refused(url, key, tool, input=None, **more):
    try:
        Client(url, key, **more).invoke(tool=tool, input={} if input is None else input)
    except SignalboxError as error:
        return told(error)
    return None


def told(error):
    return {
        "text": str(error),
        "code": error.code,
        "type": error.type,
        "http_status": error.http_status,
        "retryable": error.retryable,
        "details": error.details,
        "request_id": error.request_id,
        "execution_id": error.execution_id,
        "idempotency_key": error.idempotency_key,
        "status": error.status,
        "attempt": None if error.execution is None else error.execution["attempt"],
        "retry_after_s": error.retry_after_s,
    }


def walk(url, key, tool):
    client = Client(url, key)
    pages = []
    cursor = None
    while True:
        page = client.list_executions(tool=tool, limit=2, cursor=cursor)
        pages.append([call["execution_id"] for call in page["items"]])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    every = [call["execution_id"] for call in client.iter_executions(tool=tool, limit=2)]
    return {"pages": pages, "every": every}


def changes(url, key, id):
    return [event["type"] for event in Client(url, key).iter_execution_events(id, limit=2)]


def start(url, key, tool, input):
    return Client(url, key).invoke(tool=tool, input=input, mode="async")["execution_id"]


def cancel(url, key, id):
    client = Client(url, key)
    first = client.cancel_execution(id)["status"]
    *_, last = client.stream_execution(id)
    return {"first": first, "end": last.event, "status": last.data["status"], "again": client.cancel_execution(id)["status"]}


def stream(url, key, tool, input):
    return [[event.event, event.seq, short(event)] for event in Client(url, key).invoke_stream(tool=tool, input=input)]


def follow(url, key, id, after_seq=None):
    return [[event.event, event.seq, short(event)] for event in Client(url, key).stream_execution(id, after_seq=after_seq)]


def short(event):
    if event.event in ("done", "error"):
        return event.data["status"]
    return event.data.get("text")


def leave(url, key, tool, input):
    for event in Client(url, key).invoke_stream(tool=tool, input=input, cancel_on_disconnect=True):
        if event.event == "stdout":
            return event.data["text"]
    return None


def decide(url, key):
    client = Client(url, key)
    votes = []
    for approval in client.iter_approvals(mine=True):
        asked = client.get_approval(approval["approval_id"])
        after = client.vote(
            asked["approval_id"], decision="approve", args_hash=asked["args_hash"], comment="seen", args={"n": 9007199254740993}
        )
        votes.append([asked["args"], after["said"], after["status"], after["args"]])
    return votes


def administer(url, key):
    client = Client(url, key)
    made = client.create_key(label="made by Python", principal="service:python", scopes=["tools:invoke"])
    listed = [one["label"] for one in client.iter_keys(limit=1) if one["key_id"] == made["key_id"]]
    revoked = client.revoke_key(made["key_id"])
    default = client.set_policy_default(decision="deny", project="default")["decision"]
    lifted = client.set_policy_default(decision=None, project="default")["decision"]
    return [listed, revoked["revoked_at"] is not None, default, lifted]


def documents(url, key, yaml, json_document):
    client = Client(url, key)
    by_text = client.register_tool(yaml)["tool"]
    by_data = client.register_tool(json_document, activate=False)
    detail = client.get_tool(json_document["metadata"]["name"], version="1.0.0")
    return [by_text, by_data["active"], detail["versions"]]


def plain(url, key):
    client = Client(url, key)
    stored = client.put_file(bytes(range(256)))
    return [stored["bytes"], client.get_metrics().startswith("#"), client.get_health(), client.get_readiness()["ready"]]


def ask(url, method, arguments, key="k", **more):
    """One method, whatever comes of it; of a stream the first event."""
    try:
        answer = getattr(Client(url, key, **more), method)(**arguments)
        return {"answer": next(answer).event if hasattr(answer, "__next__") else answer}
    except SignalboxError as error:
        return {"error": told(error)}


def over_tls(url, key, ca):
    trusting = Client(url, key, tls=ssl.create_default_context(cafile=ca))
    output = trusting.invoke(tool="echo", input={"n": 1})["output"]
    try:
        stranger = Client(url, key).get_status()
    except SignalboxError as error:
        stranger = {"code": error.code, "retryable": error.retryable}
    return {"output": output, "stranger": stranger}


def shape():
    """That every type can be read to its end, and which methods there are."""
    types = [one for one in vars(models).values() if isinstance(one, type) and hasattr(one, "__total__")]
    for one in types:
        typing.get_type_hints(one)
    methods = [name for name, one in vars(Client).items() if callable(one) and not name.startswith("_")]
    for name in methods:
        typing.get_type_hints(getattr(Client, name))
    silent = [name for name in methods if not getattr(Client, name).__doc__]
    return {"types": len(types), "methods": methods, "silent": silent, "version": signalbox_client.__version__}


step, arguments = sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
print(json.dumps(globals()[step](**arguments)))
