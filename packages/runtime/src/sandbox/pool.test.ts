// Parked boxes are used once, by their own class alone, and never outnumber their limits.
import { expect, test } from "vitest";
import { Pool, poolClass, type PoolLimits } from "./pool.ts";
import type { BoxSpec } from "./types.ts";

const spec = (more: Partial<BoxSpec> = {}): BoxSpec => ({
  boxId: "b",
  tenant: "a",
  tool: "t",
  version: "1.0.0",
  runtime: "exec",
  entry: "main",
  package: { path: "/p", digest: "d" },
  limits: {
    cpu: 1,
    cpuSeconds: 1,
    memoryBytes: 1,
    diskBytes: 1,
    pids: 1,
    fds: 1,
    timeoutMs: 1,
    graceMs: 1,
    outputBytes: 1,
    resultBytes: 1,
    egressBytes: 1,
  },
  env: { A: "1", B: "2" },
  egressSocket: null,
  ...more,
});

function make(limits: Partial<PoolLimits> = {}) {
  const state = {
    now: 0,
    made: 0,
    fails: false,
    dead: new Set<string>(),
    discarded: [] as string[],
    errors: [] as string[],
  };
  const pool = new Pool<string>(
    {
      start: ({ tool }) => {
        if (state.fails) return Promise.reject(new Error("cannot"));
        return Promise.resolve(`${tool}${(state.made += 1)}`);
      },
      discard: (item) => Promise.resolve(void state.discarded.push(item)),
      isFit: (item) => !state.dead.has(item),
      now: () => state.now,
      onError: ({ message }) => state.errors.push(message),
    },
    { perClass: 1, itemsMax: 10, idleMs: 100, startsMax: 2, ...limits },
  );
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { state, pool, settle };
}

test("what was asked for waits the next time, once", async () => {
  const { pool, settle } = make();
  expect(pool.take(spec())).toBeUndefined();
  pool.refill();
  await settle();
  expect(pool.take(spec({ boxId: "other" }))).toBe("t1");
  expect(pool.take(spec())).toBeUndefined();
});

test("as many as are wanted, and none when none is", async () => {
  const { pool, state, settle } = make();
  pool.want(spec(), 3);
  await settle();
  expect(pool.parked).toBe(3);
  pool.want(spec(), 0);
  await settle();
  expect([pool.parked, state.discarded.length]).toEqual([0, 3]);
});

test.each<[string, Partial<BoxSpec>]>([
  ["tenant", { tenant: "b" }],
  ["tool", { tool: "u" }],
  ["version", { version: "1.0.1" }],
  ["runtime", { runtime: "python" }],
  ["entry", { entry: "other" }],
  ["code", { package: { path: "/p", digest: "e" } }],
  ["no code", { package: null }],
  ["environment", { env: { A: "1", B: "3" } }],
  ["limits", { limits: { ...spec().limits, pids: 2 } }],
])("another %s is another class", (_, more) => {
  expect(poolClass(spec(more))).not.toBe(poolClass(spec()));
  expect(poolClass(spec({ boxId: "x", env: { B: "2", A: "1" } }))).toBe(poolClass(spec()));
});

test("a box with a socket of its own is never taken from the pool", async () => {
  const { pool, settle } = make();
  pool.want(spec(), 1);
  await settle();
  expect(pool.take(spec({ egressSocket: "/s" }))).toBeUndefined();
  expect(pool.parked).toBe(1);
});

test("a box that died while it waited is not given out", async () => {
  const { pool, state, settle } = make();
  pool.want(spec(), 2);
  await settle();
  state.dead.add("t2");
  expect(pool.take(spec())).toBe("t1");
  expect(state.discarded).toEqual(["t2"]);
});

test("when all places are taken, the class that was asked for longest ago makes room", async () => {
  const { pool, state, settle } = make({ itemsMax: 2 });
  for (const tool of ["x", "y", "z"]) {
    state.now += 1;
    pool.take(spec({ tool }));
    pool.refill();
    await settle();
  }
  expect(pool.parked).toBe(2);
  expect(state.discarded).toEqual(["x1"]);
  expect(pool.take(spec({ tool: "z" }))).toBe("z3");
});

test("a class that nobody asks for goes", async () => {
  const { pool, state, settle } = make();
  pool.want(spec(), 1);
  await settle();
  state.now = 99;
  pool.sweep();
  expect(pool.parked).toBe(1);
  state.now = 100;
  pool.sweep();
  await settle();
  expect([pool.parked, state.discarded]).toEqual([0, ["t1"]]);
});

test("what cannot be made is told once and not tried again until somebody asks", async () => {
  const { pool, state, settle } = make();
  state.fails = true;
  pool.want(spec(), 2);
  await settle();
  pool.refill();
  await settle();
  expect(state.errors.length).toBeLessThanOrEqual(2);
  state.fails = false;
  pool.take(spec());
  pool.refill();
  await settle();
  expect(pool.parked).toBe(2);
});

test("closed: what waits is discarded, what is being made as well", async () => {
  const { pool, state, settle } = make();
  pool.want(spec(), 1);
  await settle();
  pool.want(spec({ tool: "u" }), 1);
  await pool.close();
  expect(state.discarded.toSorted()).toEqual(["t1", "u2"]);
  expect(pool.take(spec())).toBeUndefined();
});
