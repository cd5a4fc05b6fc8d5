"""Calls a tool, follows one while it runs, walks through what was called, and says what went wrong.

Takes the runtime's address from SIGNALBOX_URL (else that of `signalbox dev`) and the key from SIGNALBOX_KEY.
"""

# #region invoke
from signalbox_client import Client, SignalboxError

client = Client()
call = client.invoke(tool="echo", input={"order": 9007199254740993})
print(call["status"], call["output"])
# #endregion invoke

# #region error
try:
    client.invoke(tool="no.such.tool", input={})
except SignalboxError as error:
    print(error.code, error.http_status, "may be sent again" if error.retryable else "is final")
# #endregion error

# #region stream
for event in client.invoke_stream(tool="echo", input={"text": "hello"}):
    if event.event in ("stdout", "stderr"):
        print(event.data["text"], end="")
    if event.event == "done":
        print(event.data["output"])
# #endregion stream

# #region key
order = {"order": 1042}
first = client.invoke(tool="echo", input=order, idempotency_key="order-1042")
again = client.invoke(tool="echo", input=order, idempotency_key="order-1042")
print("the same call" if again["execution_id"] == first["execution_id"] else "another call")
# #endregion key

# #region list
print(sum(1 for call in client.iter_executions(tool="echo", status="succeeded")), "calls of echo succeeded")
# #endregion list
