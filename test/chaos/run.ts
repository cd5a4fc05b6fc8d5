// Plays one story from the first process to the last, and counts what became of its calls.
import { setTimeout as wait } from "node:timers/promises";
import type { Asker } from "./ask.ts";
import { count } from "./count.ts";
import { openHouse, type House } from "./house.ts";
import { startLoad } from "./load.ts";
import { planOf } from "./plan.ts";
import { classOf } from "./tools.ts";
import type { Report, Row, Story } from "./types.ts";

export interface RunOptions {
  readonly seed: number;
  /** How long things happen; the rest of the story is waiting for the ends. */
  readonly seconds: number;
  /** The script of the command line to run. */
  readonly bin: string;
  readonly note: (line: string) => void;
}

const callers = 32;
/** What was struck last may have to be found by its lease, and what it held goes back to the queue once more. */
const settleMsMax = 90_000;
const settledEveryMs = 250;
const pageItems = 100;
const openStates = ["queued", "dispatched", "running"];

export async function runStory(story: Story, options: RunOptions): Promise<Report> {
  // A database that ends is waited for, and does not keep this process by itself.
  const staying = setInterval(() => undefined, 60_000);
  try {
    return await playIn(await openHouse(story, options.bin), story, options);
  } finally {
    clearInterval(staying);
  }
}

async function playIn(house: House, story: Story, options: RunOptions): Promise<Report> {
  try {
    const { seed, seconds, note } = options;
    const plan = planOf(story, seed, seconds * 1_000);
    note(`${story.name}: ${story.about}; ${plan.length} blows in ${seconds} s, seed ${seed}`);
    const { urls, adminKey: key, approverKey } = house;
    const load = startLoad({ urls, key, approverKey, seed, callers });
    await strikeAll(house, plan, seconds * 1_000);
    await house.restore();
    note(`${story.name}: everything is back; waiting for the ends`);
    const { held, problems: odd } = await load.finish(settleMsMax);
    const late = await settled(house.admin);
    const rows = await allRows(house.admin);
    await house.close();
    const entries = house.entries();
    const report = count({ story: story.name, kills: plan.length, held, rows, entries, classOf });
    const broken = await house.store.brokenRules(entries);
    return { ...report, problems: [...report.problems, ...odd, ...broken, ...late] };
  } finally {
    await house.remove();
  }
}

async function strikeAll(house: House, plan: ReturnType<typeof planOf>, forMs: number): Promise<void> {
  const began = performance.now();
  const until = (atMs: number): Promise<void> => wait(Math.max(0, atMs - (performance.now() - began)));
  for (const planned of plan) {
    await until(planned.atMs);
    house.strike(planned);
  }
  await until(forMs);
}

/** Waits until no call is on its way any more. @returns what is late, in words */
async function settled(admin: Asker): Promise<readonly string[]> {
  const giveUp = AbortSignal.timeout(settleMsMax);
  let open: readonly Row[] = [];
  while (!giveUp.aborted) {
    open = [];
    for (const state of openStates) open = [...open, ...(await page(admin, giveUp, `status=${state}&`)).rows];
    if (open.length === 0) return [];
    await wait(settledEveryMs);
  }
  return open.map(({ executionId, status }) => `${executionId} was ${status} for too long`);
}

async function allRows(admin: Asker): Promise<readonly Row[]> {
  const giveUp = AbortSignal.timeout(settleMsMax);
  const rows: Row[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const from: string = cursor === "" ? "" : `cursor=${encodeURIComponent(cursor)}&`;
    const { rows: more, next } = await page(admin, giveUp, from);
    rows.push(...more);
    cursor = next;
  }
  return rows;
}

async function page(admin: Asker, giveUp: AbortSignal, query: string): Promise<{ rows: readonly Row[]; next: string | null }> {
  const { status, body } = await admin.until(giveUp, "GET", `/v1/executions?${query}limit=${pageItems}`);
  if (status !== 200) throw new Error(`the list was answered ${status} ${JSON.stringify(body)}`);
  const { items, next_cursor } = body as { readonly items: readonly Listed[]; readonly next_cursor: string | null };
  return { rows: items.map(rowOf), next: next_cursor };
}

interface Listed {
  readonly execution_id: string;
  readonly tool: string;
  readonly status: string;
  readonly approval_id?: string | null;
  readonly execution?: { readonly routing_outcome?: string | null };
  readonly error?: { readonly code: string } | null;
}

function rowOf({ execution_id, tool, status, approval_id, execution, error }: Listed): Row {
  const reason = execution?.routing_outcome ?? error?.code ?? "unnamed";
  return { executionId: execution_id, tool, status, reason, approvalId: approval_id ?? null };
}
