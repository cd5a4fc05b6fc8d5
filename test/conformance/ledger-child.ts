// A process for ledger.sqlite.kill.test.ts: writes calls and approvals as fast as it can and prints each that was acknowledged.
import { writeSync } from "node:fs";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { approved, sampleApproval, sampleNotice, sampleVote, sampleWebhook } from "./ledger-governance-rows.ts";
import { admitUnit, sampleCall, settleUnit } from "./ledger-rows.ts";

const callersTogether = 16;
const votersTogether = 4;
const [path = "", round = ""] = process.argv.slice(2);
const ledger = new SqliteLedger({ path, auditKey: Buffer.alloc(32, 1), lane: "r1", now: Date.now });
let made = 0;

async function callWithoutEnd(): Promise<never> {
  for (;;) {
    made += 1;
    const call = sampleCall({ callId: `c${round}-${made}`, tenant: made % 3 === 0 ? "globex" : "acme" });
    await ledger.commit(admitUnit(call));
    writeSync(1, `admitted ${call.tenant} ${call.callId}\n`);
    await ledger.commit(settleUnit(call));
    writeSync(1, `settled ${call.tenant} ${call.callId}\n`);
  }
}

async function approveWithoutEnd(_: unknown, voter: number): Promise<never> {
  for (let number = 1; ; number += 1) {
    const approvalId = `a${round}-${voter}-${number}`;
    const row = sampleApproval({ approvalId });
    const notice = (type: string) => ({ op: "append_notice", notice: sampleNotice({ approvalId, type }) }) as const;
    await ledger.commit({ writes: [{ op: "insert_approval", row }, notice("approval.requested")] });
    writeSync(1, `opened acme ${approvalId}\n`);
    await ledger.commit({
      writes: [
        { op: "update_approval", expect: { revision: 0 }, row: approved(row) },
        { op: "store_vote", row: sampleVote({ approvalId, voter: "user:bo" }) },
        notice("approval.approved"),
      ],
    });
    writeSync(1, `closed acme ${approvalId}\n`);
  }
}

// There already, but for the first round.
await ledger.commit({ writes: [{ op: "insert_webhook", row: sampleWebhook({ webhookId: "whk_1" }) }] });
const approvers = Array.from({ length: votersTogether }, approveWithoutEnd);
await Promise.all([...approvers, ...Array.from({ length: callersTogether }, callWithoutEnd)]);
