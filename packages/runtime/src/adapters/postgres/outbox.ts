// How rows of the outbox are numbered: by the transaction that wrote them, so that a reader can tell what may still come before.
//
// A number that is drawn from a sequence is drawn before it can be seen: of two writers the later number may be seen first, and a
// reader that has passed it would miss the earlier one. The id of the transaction says both: rows are in its order, and whatever is
// older than the oldest transaction that is under way is all there.

/** Rows of one transaction at most; ids stay below 2^53 for two thousand milliard transactions. */
export const outboxIdsPerTransaction = 4_096;

/** The id of the row at this place (from 0, a parameter) in its transaction. */
export const outboxIdSql = (place: string): string =>
  `(pg_current_xact_id()::text::bigint + (SELECT base FROM outbox_base)) * ${outboxIdsPerTransaction} + ${place}`;
