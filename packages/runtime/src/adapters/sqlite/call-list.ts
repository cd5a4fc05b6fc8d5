// Lists calls, the newest first: along an index, and where a filter has none, in turns between which everybody else gets theirs.
import { setImmediate } from "node:timers/promises";
import type { Call } from "../../call/types.ts";
import type { CallFilter, Page } from "../../ledger/port.ts";
import { callColumns } from "./columns.ts";
import { conditions, pageOf, readCursor } from "./paging.ts";
import { callOf, type Prepared } from "./reads.ts";
import { notSucceededSql } from "./schema.ts";

/** Calls that a filter looks at in one turn of the event loop: about half a millisecond, of which a call beside it waits for several. */
const rowsPerTurnMax = 250;

const listedCall = callColumns
  .map(({ name }) => (name === "input_json" || name === "output_json" ? `NULL AS ${name}` : name))
  .join(", ");
const newestFirst = "ORDER BY admitted_at DESC, call_id DESC";

/** `admitted_at` and `call_id`, which is what lists are sorted by. */
type Place = readonly (string | number)[];

/** A stretch of the list; what is absent bounds nothing. */
interface Stretch {
  /** Its calls come behind this place. */
  readonly below?: Place | undefined;
  /** It ends with the call at this place. */
  readonly downTo?: Place | undefined;
}

/** No id stands before the empty one: so a place can be an instant, before all of its calls. */
function wholeStretch({ admittedFrom, admittedTo }: CallFilter, cursor: string | undefined): Stretch {
  const [at, callId] = cursor === undefined ? [] : readCursor(cursor, 2);
  const given = at === undefined || callId === undefined ? undefined : [at, callId];
  const cut = admittedTo !== undefined && (at === undefined || Number(at) >= admittedTo);
  return { below: cut ? [admittedTo, ""] : given, downTo: admittedFrom === undefined ? undefined : [admittedFrom, ""] };
}

interface Where {
  readonly sql: string;
  readonly values: readonly (string | number)[];
}

/**
 * What an index answers alone: calls of a tenant by time, and those of a state that few are in. One bound a side, and in the
 * form of the index: of two, SQLite may search by the wider one.
 */
function along({ tenant, state }: CallFilter, { below, downTo }: Stretch): Where {
  const rare = state !== undefined && state !== "succeeded" ? [state] : [];
  const terms = ["tenant = ?", ...rare.flatMap(() => ["state = ?", notSucceededSql])];
  if (below !== undefined) terms.push("(admitted_at, call_id) < (?, ?)");
  if (downTo !== undefined) terms.push("(admitted_at, call_id) >= (?, ?)");
  return { sql: terms.join(" AND "), values: [tenant, ...rare, ...(below ?? []), ...(downTo ?? [])] };
}

/** What is asked of every call that the index leads to. */
function matching({ project, tool, principal, state }: CallFilter) {
  return conditions()
    .equal("project", project)
    .equal("tool", tool)
    .equal("principal", principal)
    .equal("state", state === "succeeded" ? state : undefined);
}

export function callLister(prepared: Prepared) {
  const listed = (filter: CallFilter, stretch: Stretch, limit: number): Call[] => {
    const { sql, values } = along(filter, stretch);
    const matches = matching(filter);
    const whole = [sql, matches.sql()].filter(Boolean).join(" AND ");
    return prepared(`SELECT ${listedCall} FROM calls WHERE ${whole} ${newestFirst} LIMIT ?`)
      .all(...values, ...matches.values(), limit)
      .map(callOf);
  };
  /** Of the last call that one turn may look at; undefined when the stretch ends before it. */
  const turnEnd = (filter: CallFilter, stretch: Stretch): Place | undefined => {
    const { sql, values } = along(filter, stretch);
    const last = prepared(
      `SELECT admitted_at, call_id FROM calls WHERE ${sql} ${newestFirst} LIMIT 1 OFFSET ${rowsPerTurnMax - 1}`,
    ).get(...values);
    return last === undefined ? undefined : [Number(last["admitted_at"]), String(last["call_id"])];
  };
  const walked = async (filter: CallFilter, whole: Stretch, limit: number): Promise<Call[]> => {
    const found: Call[] = [];
    for (let rest = whole; ;) {
      const end = turnEnd(filter, rest);
      found.push(...listed(filter, { below: rest.below, downTo: end ?? rest.downTo }, limit - found.length));
      if (end === undefined || found.length === limit) return found;
      rest = { below: end, downTo: whole.downTo };
      await setImmediate();
    }
  };

  return async (filter: CallFilter, limit: number, cursor?: string): Promise<Page<Call>> => {
    const whole = wholeStretch(filter, cursor);
    const isIndexed = matching(filter).values().length === 0;
    const found = isIndexed ? listed(filter, whole, limit + 1) : await walked(filter, whole, limit + 1);
    return pageOf(found, limit, (call) => [call.admittedAt, call.callId]);
  };
}
