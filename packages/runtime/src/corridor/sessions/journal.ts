// The journal of a session that is driven here: claims and completions are units of its row, under its fence.
import type { Ledger } from "../../ledger/port.ts";
import type { JournalStore } from "../../session/effects/types.ts";
import type { SessionProgress } from "../../session/types.ts";
import type { RowChange, SessionRow } from "./row.ts";

/** @param during where the session stands while the effect is under way */
export function journalOf(ledger: Ledger, row: SessionRow, during: Pick<SessionProgress, "state">): JournalStore<RowChange> {
  return {
    durable: true,
    read: (tenant, sessionId, key) => ledger.effect(tenant, sessionId, key),
    claim: (claimed, now) => row.change({ progress: during, guards: [{ op: "claim_effect", row: claimed, now }] }),
    // The lease is what is renewed: a claim under it needs no renewal of its own.
    renew: async () => true,
    complete({ tenant, sessionId, key, fence }, at, outcomeJson, beside = {}) {
      const complete = { op: "complete_effect", tenant, sessionId, key, fence, at, outcomeJson } as const;
      return row.change({ ...beside, guards: [complete, ...(beside.guards ?? [])] });
    },
  };
}
