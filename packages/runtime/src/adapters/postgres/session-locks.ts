// Holds the rows of sessions that a transaction is going to look at or move, all at once and in one order, before anything else is touched.
import type { Unit, Write } from "../../ledger/port.ts";
import type { Db } from "./db.ts";

type Named = { readonly tenant: string; readonly sessionId: string };

function sessionOf(write: Write): Named | undefined {
  switch (write.op) {
    case "update_session":
    case "claim_effect":
      return write.row;
    case "put_inbox":
      return write.entry;
    case "complete_effect":
      return write;
    default:
      return undefined;
  }
}

/** Two writers that want the same sessions wait for one another here, and never both. */
const holdSql = `SELECT 1 FROM sessions AS s WHERE (s.tenant, s.session_id) IN
  (SELECT r.tenant, r.session_id FROM json_to_recordset(?::json) AS r(tenant text, session_id text))
  ORDER BY s.tenant, s.session_id FOR UPDATE`;

export async function holdSessions(tx: Db, units: readonly Unit[]): Promise<void> {
  const named = units.flatMap(({ writes }) => writes.flatMap((write) => sessionOf(write) ?? []));
  if (named.length === 0) return;
  await tx.rows(holdSql, [JSON.stringify(named.map(({ tenant, sessionId }) => ({ tenant, session_id: sessionId })))]);
}
