// Follows all calls: which are new, which have ended, which wait for people; none missed and none told twice.
import { SignalboxApiError } from "@signalbox/client";
import type { AskOptions, Client, Execution, ExecutionQuery, ExecutionStatus } from "@signalbox/client";

export type TailQuery = Pick<ExecutionQuery, "tool" | "principal" | "project">;

/**
 * Of calls that were admitted at about the same time one may come into the ledger after the other; so far before the
 * newest known one a look goes back.
 */
const slackMs = 2_000;
/** Open calls that one look asks after; those that have waited longest come first, so that all get their turn. */
const askedAfterMax = 50;
/** Open calls that are known from before the first look, at most. */
const openBeforeMax = 1_000;
const page = { limit: 100 } as const;

/** In the order in which calls go through them, so that a call on its way is met at least once. */
const openStatuses: readonly ExecutionStatus[] = [
  "awaiting_approval",
  "queued",
  "dispatched",
  "running",
  "indeterminate",
];
/** News in the middle of a call's life: people are asked. */
const parked: readonly ExecutionStatus[] = ["awaiting_approval", "indeterminate"];

const createdMs = ({ created_at }: Execution): number => Date.parse(created_at);
const byCreation = (a: Execution, b: Execution): number =>
  createdMs(a) - createdMs(b) || (a.execution_id < b.execution_id ? -1 : 1);

export class CallTail {
  readonly #client: Pick<Client, "get" | "list">;
  readonly #query: TailQuery;
  /** Calls that have yet to end, the one asked after longest ago first. */
  readonly #open = new Map<string, Execution>();
  /** Calls about as old as the newest one, that were told or belong to the time before. */
  readonly #seen = new Map<string, number>();
  #newestMs: number | undefined;

  constructor(client: Pick<Client, "get" | "list">, query: TailQuery) {
    this.#client = client;
    this.#query = query;
  }

  /** The newest calls up to now, the oldest first; what `look` gives comes behind them. */
  async begin(count: number, how: AskOptions): Promise<readonly Execution[]> {
    const { items } = await this.#client.list({ ...this.#query, limit: Math.max(1, count) }, how);
    const newest = items[0];
    this.#newestMs = newest === undefined ? undefined : createdMs(newest);
    for await (const call of this.#since(how)) if (createdMs(call) <= (this.#newestMs ?? 0)) this.#note(call);
    for (const call of items) this.#note(call);
    for (const status of openStatuses) {
      for await (const call of this.#client.list({ ...this.#query, ...page, status }, how)) {
        if (this.#open.size >= openBeforeMax) break;
        // One that came in between is new at the first look.
        if (createdMs(call) <= (this.#newestMs ?? 0)) this.#open.set(call.execution_id, call);
      }
    }
    return items.slice(0, count).toSorted(byCreation);
  }

  /** What is new since the last look: calls that were admitted, then calls that ended or wait for people now. */
  async look(how: AskOptions): Promise<readonly Execution[]> {
    const asking = [...this.#open.keys()].slice(0, askedAfterMax);
    const admitted: Execution[] = [];
    for await (const call of this.#since(how)) if (!this.#seen.has(call.execution_id)) admitted.push(call);
    const changed: Execution[] = [];
    for (const id of asking) {
      const news = await this.#askAfter(id, how);
      if (news !== undefined) changed.push(news);
    }
    // Only now: a look that fails halfway is made again, and must tell what this one found.
    for (const call of admitted) {
      this.#note(call);
      this.#newestMs = Math.max(this.#newestMs ?? 0, createdMs(call));
    }
    for (const call of changed) this.#settle(call);
    for (const [id, ms] of this.#seen) if (ms < (this.#newestMs ?? 0) - slackMs) this.#seen.delete(id);
    return [...admitted.sort(byCreation), ...changed];
  }

  #since(how: AskOptions): AsyncIterable<Execution> {
    const from = this.#newestMs === undefined ? {} : { from: new Date(this.#newestMs - slackMs).toISOString() };
    return this.#client.list({ ...this.#query, ...page, ...from }, how);
  }

  #note(call: Execution): void {
    this.#seen.set(call.execution_id, createdMs(call));
    if (openStatuses.includes(call.status)) this.#open.set(call.execution_id, call);
  }

  #settle(call: Execution): void {
    if (openStatuses.includes(call.status)) this.#open.set(call.execution_id, call);
    else this.#open.delete(call.execution_id);
  }

  /** Its record, if there is news of it. */
  async #askAfter(id: string, how: AskOptions): Promise<Execution | undefined> {
    const before = this.#open.get(id);
    let now: Execution;
    try {
      const {
        attempts: _a,
        late_results: _l,
        decision: _d,
        outputText: _o,
        ...record
      } = await this.#client.get(id, how);
      now = record;
    } catch (error) {
      if (!(error instanceof SignalboxApiError) || error.code !== "execution_not_found") throw error;
      // Its time was over, and the record was removed.
      this.#open.delete(id);
      return undefined;
    }
    // To the end of the line of those that are asked after.
    if (this.#open.delete(id) && before !== undefined) this.#open.set(id, before);
    const ended = !openStatuses.includes(now.status);
    return ended || (parked.includes(now.status) && now.status !== before?.status) ? now : undefined;
  }
}
