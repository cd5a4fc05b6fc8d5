"""Answers what people are asked: says yes to small payments, and leaves the others to somebody else.

Takes the address from SIGNALBOX_URL and the key of whoever decides from SIGNALBOX_KEY.
"""

from signalbox_client import Client

client = Client()
# #region approve
for waiting in client.iter_approvals(mine=True):
    approval = client.get_approval(waiting["approval_id"])
    print(approval["requester"], "wants", approval["tool"], approval["args"])
    if approval["args"]["amount"] <= 2000:
        # A vote is about the arguments that were seen: where somebody has changed them since, it is refused.
        after = client.vote(approval["approval_id"], decision="approve", args_hash=approval["args_hash"], comment="small")
        print(after["status"])
# #endregion approve
