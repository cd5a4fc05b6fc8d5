// Units gather while a transaction is under way, keep their order, and are rejected together when the store is away.
import { expect, test } from "vitest";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { GroupCommit, type BatchOutcome } from "./group-commit.ts";

const applied = { applied: true } as const;

function scripted(lazyWriteMs = 60_000) {
  const batches: { readonly items: readonly string[]; readonly answer: (outcome: BatchOutcome) => void }[] = [];
  const lazyFailures: string[] = [];
  let arrived = (): void => {};
  const commits = new GroupCommit<string>({
    write: (items) => {
      const { promise, resolve } = Promise.withResolvers<BatchOutcome>();
      batches.push({ items, answer: resolve });
      arrived();
      return promise;
    },
    onLazyFailure: (error) => lazyFailures.push(error.message),
    batchUnitsMax: 3,
    waitingUnitsMax: 5,
    lazyWriteMs,
  });
  /** The next batch that is written. */
  const next = async (at: number) => {
    while (batches.length <= at) await new Promise<void>((resolve) => (arrived = resolve));
    const batch = batches[at];
    if (batch === undefined) throw new Error("it was waited for");
    return batch;
  };
  return { commits, batches, lazyFailures, next };
}

test("what is handed over in one turn is one batch, and what comes while it is written is the next", async () => {
  const { commits, next } = scripted();
  const first = [commits.commit("a", false), commits.commit("b", false)];
  const batch = await next(0);
  expect(batch.items).toEqual(["a", "b"]);
  const second = ["c", "d", "e", "f"].map((item) => commits.commit(item, false));
  batch.answer([applied, { applied: false, write: 0 }]);
  expect(await Promise.all(first)).toEqual([applied, { applied: false, write: 0 }]);
  const full = await next(1);
  expect(full.items).toEqual(["c", "d", "e"]);
  full.answer([applied, applied, applied]);
  (await next(2)).answer([applied]);
  expect(await Promise.all(second)).toEqual([applied, applied, applied, applied]);
  expect(commits.stats()).toEqual({ commits: 3, units: 6, refused: 1, failed: 0, batchMax: 3, waiting: 0 });
});

test("when the store is away, what waits behind is rejected as well, and is never written before what was in front of it", async () => {
  const { commits, batches, next } = scripted();
  const first = commits.commit("a", false);
  const batch = await next(0);
  const waiting = [commits.commit("b", false), commits.commit("c", false)];
  batch.answer([new LedgerUnavailable("away")]);
  const outcomes = await Promise.allSettled([first, ...waiting]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  const again = ["a", "b"].map((item) => commits.commit(item, false));
  (await next(1)).answer([applied, applied]);
  await Promise.all(again);
  expect(batches.map(({ items }) => items)).toEqual([["a"], ["a", "b"]]);
});

test("an error of one unit is its own", async () => {
  const { commits, next } = scripted();
  const first = commits.commit("a", false);
  const batch = await next(0);
  const second = commits.commit("b", false);
  batch.answer([new Error("faulty")]);
  await expect(first).rejects.toThrow("faulty");
  (await next(1)).answer([applied]);
  expect(await second).toEqual(applied);
});

test("a lazy unit rides along, in its place, and its failure is told to who listens", async () => {
  const { commits, lazyFailures, next } = scripted();
  const lazy = commits.commit("lazy", true);
  await new Promise((resolve) => setImmediate(resolve));
  const busy = commits.commit("busy", false);
  const batch = await next(0);
  expect(batch.items).toEqual(["lazy", "busy"]);
  batch.answer([new Error("no"), applied]);
  expect(await busy).toEqual(applied);
  await expect(lazy).rejects.toThrow("no");
  expect(lazyFailures).toEqual(["no"]);
});

test("too many that wait are refused, and a flush or the end writes what waits", async () => {
  const { commits, next } = scripted();
  const waiting = ["a", "b", "c", "d", "e"].map((item) => commits.commit(item, true));
  await expect(commits.commit("f", false)).rejects.toThrow("5 writes waiting");
  const flushed = commits.flush();
  (await next(0)).answer([applied, applied, applied]);
  (await next(1)).answer([applied, applied]);
  await flushed;
  expect(await Promise.all(waiting)).toHaveLength(5);
  const last = commits.commit("g", true);
  const closed = commits.close();
  (await next(2)).answer([applied]);
  await closed;
  expect(await last).toEqual(applied);
  await expect(commits.commit("h", false)).rejects.toThrow("closed");
});
