// What gathers in one turn of the event loop shares a transaction; order, bounds and lazy writes.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LedgerUnavailable, type Unit } from "../../ledger/port.ts";
import { GroupCommit, type GroupCommitOptions } from "./group-commit.ts";

const lazy: Unit = { writes: [], lazy: true };
const unit: Unit = { writes: [] };

function gathering(options: Partial<GroupCommitOptions<Unit>> = {}) {
  const groups: number[] = [];
  const lazyFailures: Error[] = [];
  const commits = new GroupCommit<Unit>({
    write: (units) => {
      groups.push(units.length);
      return units.map(() => ({ applied: true }));
    },
    onLazyFailure: (error) => lazyFailures.push(error),
    groupUnitsMax: 4,
    waitingUnitsMax: 10,
    lazyWriteMs: 100,
    ...options,
  });
  return { commits, groups, lazyFailures };
}

describe("with a clock by hand", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("a unit alone is written at the end of the turn, without a timer", async () => {
    const { commits, groups } = gathering();
    const outcome = commits.commit(unit);
    expect(groups).toEqual([]);
    expect(await outcome).toEqual({ applied: true });
    expect(groups).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("units of one turn share a transaction, up to the bound", async () => {
    const seen: { units: number; ms: number }[] = [];
    const { commits, groups } = gathering({ onCommit: (commit) => seen.push(commit) });
    await Promise.all(Array.from({ length: 9 }, () => commits.commit(unit)));
    expect(groups).toEqual([4, 4, 1]);
    expect(seen.map(({ units }) => units)).toEqual([4, 4, 1]);
    expect(seen.every(({ ms }) => ms >= 0)).toBe(true);
    expect(commits.stats()).toEqual({ commits: 3, units: 9, refused: 0, failed: 0, batchMax: 4, waiting: 0 });
  });

  test("a lazy unit waits for its time, then goes alone", async () => {
    const { commits, groups } = gathering();
    const outcome = commits.commit(lazy);
    await vi.advanceTimersByTimeAsync(99);
    expect(groups).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(groups).toEqual([1]);
    await outcome;
  });

  test("lazy units ride with the next one, and their timer ends", async () => {
    const { commits, groups } = gathering();
    void commits.commit(lazy);
    void commits.commit(lazy);
    await commits.commit(unit);
    expect(groups).toEqual([3]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("flush writes everything before it returns", () => {
    const { commits, groups } = gathering();
    for (let count = 0; count < 5; count += 1) void commits.commit(lazy);
    commits.flush();
    expect(groups).toEqual([4, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("refused and rejected units are told and counted apart", async () => {
  const { commits } = gathering({
    write: () => [{ applied: false, write: 2 }, new Error("faulty"), { applied: true }],
  });
  const results = await Promise.allSettled([commits.commit(unit), commits.commit(unit), commits.commit(unit)]);
  expect(results).toEqual([
    { status: "fulfilled", value: { applied: false, write: 2 } },
    { status: "rejected", reason: new Error("faulty") },
    { status: "fulfilled", value: { applied: true } },
  ]);
  expect(commits.stats()).toMatchObject({ units: 3, refused: 1, failed: 1 });
});

test("more than the bound may not wait", async () => {
  const { commits } = gathering({ waitingUnitsMax: 2 });
  const waiting = [commits.commit(unit), commits.commit(unit)];
  await expect(commits.commit(unit)).rejects.toBeInstanceOf(LedgerUnavailable);
  await Promise.all(waiting);
  expect(await commits.commit(unit)).toEqual({ applied: true });
});

test("a lazy unit that fails is reported, and is no unhandled rejection", () => {
  const { commits, lazyFailures } = gathering({ write: (units) => units.map(() => new LedgerUnavailable("full")) });
  void commits.commit(lazy);
  commits.flush();
  return vi.waitFor(() => expect(lazyFailures).toEqual([new LedgerUnavailable("full")]));
});

test("close writes what waits and refuses the rest", async () => {
  const { commits, groups } = gathering();
  const last = commits.commit(unit);
  commits.close();
  expect(groups).toEqual([1]);
  expect(await last).toEqual({ applied: true });
  await expect(commits.commit(unit)).rejects.toThrow("closed");
});
