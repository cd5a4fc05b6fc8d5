// Verdicts on evidence written by hand: what passes, what misses, and that nothing is left out.
import { expect, test } from "vitest";
import { specs, specsFor, type Evidence, type Figure } from "./figures.ts";
import type { Measured } from "./rounds.ts";

const nothing: Evidence = { measured: [], failures: new Map() };

function judge(figure: string, evidence: Evidence): Omit<Figure, "figure"> {
  const spec = specs.find((candidate) => candidate.figure === figure);
  if (spec === undefined) throw new Error(`no figure ${figure}`);
  return spec.judge(evidence);
}

function slice(subject: Measured["subject"], concurrency: number, more: Partial<Measured>): Measured {
  return {
    subject,
    concurrency,
    calls: 1_000,
    errors: 0,
    errorCodes: {},
    elapsedMs: 1_000,
    callsPerSecond: 1_000,
    p50Us: 1_000,
    p95Us: 2_000,
    p99Us: 3_000,
    maxUs: 9_000,
    othersPercent: 0,
    ...more,
  };
}

test("latency at c=1 is held against the floor's median of slices", () => {
  const floor = [1_000, 1_200, 5_000].map((p50Us) => slice("floor", 1, { p50Us, p95Us: 2_000 }));
  const good = judge("echo.sqlite.c1", {
    ...nothing,
    measured: [...floor, slice("signalbox", 1, { p50Us: 1_680, p95Us: 4_000 })],
  });
  expect(good).toMatchObject({ value: 1.68, unit: "ms", ok: true, ratio: 1.4, n: 1_000, errors: 0 });
  expect(good.floor).toEqual({ value: 1.2, p50: 1.2, p95: 2, p99: 3, max: 9 });
  // 5.0 is 3.8 away from the median 1.2
  expect(good.floor_spread).toBeCloseTo(316.667, 2);
  expect(good.reason).toBeUndefined();

  const slow = judge("echo.sqlite.c1", {
    ...nothing,
    measured: [...floor, slice("signalbox", 1, { p50Us: 1_000, p95Us: 4_100 })],
  });
  expect(slow).toMatchObject({ ok: false, reason: "p95 is 2.05 x the floor's" });
});

test("throughput has its own ratio at each concurrency", () => {
  const measured = [16, 128].flatMap((c) => [
    slice("floor", c, { callsPerSecond: 10_000, cpuUs: 100_000 }),
    slice("signalbox", c, { callsPerSecond: 7_000, cpuUs: 150_000 }),
  ]);
  expect(judge("echo.sqlite.c16", { ...nothing, measured })).toMatchObject({ value: 7_000, ok: true, ratio: 0.7 });
  expect(judge("echo.sqlite.c128", { ...nothing, measured })).toMatchObject({
    ok: false,
    ratio: 0.7,
    reason: "calls/s is 0.700 x the floor's; CPU a call 150 us, floor 100 us",
  });
  expect(judge("cpu.per_call", { ...nothing, measured })).toMatchObject({
    value: 150,
    ok: true,
    ratio: 1.5,
    floor: { value: 100 },
  });
});

test("an error during the load is a miss, whatever the speed", () => {
  const measured = [slice("floor", 16, {}), slice("signalbox", 16, { errors: 2, errorCodes: { timeout: 2 } })];
  expect(judge("echo.sqlite.c16", { ...nothing, measured })).toMatchObject({
    ok: false,
    errors: 2,
    reason: "2 errors: timeout 2",
  });
});

test("commits are counted per call over all slices", () => {
  const at = (c: number, commits: number): Evidence => ({
    ...nothing,
    measured: [slice("signalbox", c, { commits }), slice("signalbox", c, { commits })],
  });
  expect(judge("writes.per_call.c1", at(1, 2_004))).toMatchObject({ value: 2.004, ok: true, n: 2_000 });
  expect(judge("writes.per_call.c1", at(1, 2_100))).toMatchObject({ value: 2.1, ok: false });
  expect(judge("writes.per_call.c16", at(16, 500))).toMatchObject({ value: 0.5, ok: true });
  expect(judge("writes.per_call.c128", at(128, 160))).toMatchObject({ value: 0.16, ok: false });
});

test("dispatch p95 is the upper bound of its bucket, which may end at the limit", () => {
  const buckets = (last: number): Measured["dispatch"] => [
    { le: 0.001, count: 90 },
    { le: last, count: 100 },
    { le: Infinity, count: 100 },
  ];
  const at = (last: number): Evidence => ({
    ...nothing,
    measured: [slice("signalbox", 1, { dispatch: buckets(last) ?? [] })],
  });
  expect(judge("dispatch.p95.c1", at(0.0025))).toMatchObject({ value: 2.5, p50: 1, ok: true, n: 100 });
  expect(judge("dispatch.p95.c1", at(0.003))).toMatchObject({ value: 3, ok: true });
  expect(judge("dispatch.p95.c1", at(0.004))).toMatchObject({ value: 4, ok: false });
  expect(judge("dispatch.p95.c1", at(Infinity))).toMatchObject({ value: null, ok: false });
});

test("what could not be measured is a miss with its reason", () => {
  const evidence: Evidence = {
    ...nothing,
    failures: new Map([
      ["signalbox", "exit code 1"],
      ["idle", "exit code 1"],
      ["registry", "exit code 1"],
    ]),
  };
  const judged = specs.map(({ figure, judge: verdict }) => ({ figure, ...verdict(evidence) }));
  expect(judged.filter(({ value, reason }) => value !== null || reason === undefined)).toEqual([]);
  expect(judged.filter(({ ok }) => ok === false).map(({ figure }) => figure)).toEqual([
    "echo.sqlite.c1",
    "echo.sqlite.c16",
    "echo.sqlite.c128",
    "dispatch.p95.c1",
    "dispatch.p95.c16",
    "cpu.per_call",
    "writes.per_call.c1",
    "writes.per_call.c16",
    "writes.per_call.c128",
    "echo.pg.c1",
    "echo.pg.c16",
    "echo.pg.c128",
    "writes.pg.per_call.c1",
    "writes.pg.per_call.c16",
    "writes.pg.per_call.c128",
    "policy.10k",
    "schedule.100k",
    "neighbour",
    "registry.100k",
    "stream.first",
    "stream.rate",
    "session.step",
    "box.native.cold",
    "box.native.warm",
    "box.teardown",
    "box.native.alive",
    "box.wasm.fresh",
    "box.wasm.reused",
    "box.wasm.alive",
    "box.beside",
    "recover.10k",
    "idle.rss",
    "history.1m",
    "history.get",
    "history.list",
    "history.list.status",
    "history.audit",
    "history.start",
    "history.append",
  ]);
  expect(judged.filter(({ ok }) => ok === true)).toEqual([]);
  expect(judge("echo.sqlite.c1", evidence).reason).toBe("signalbox: exit code 1");
});

test("of several spreads of policies the slowest is the figure, and one wrong decision is a miss", () => {
  const spread = (name: string, p95: number, errors = 0) => ({
    spread: name,
    n: 100,
    p50: 0.01,
    p95,
    p99: 1.5,
    max: 2.25,
    errors,
    builtMs: 50,
    replacedMs: 5,
  });
  const at = (...policies: ReturnType<typeof spread>[]): Evidence => ({ ...nothing, policies });
  expect(judge("policy.10k", at(spread("tools", 0.02), spread("agents", 0.999)))).toEqual({
    value: 0.999,
    unit: "ms",
    target: "p95 < 1 ms",
    ok: true,
    n: 100,
    p50: 0.01,
    p95: 0.999,
    p99: 1.5,
    max: 2.25,
    errors: 0,
  });
  expect(judge("policy.10k", at(spread("tools", 0.02), spread("agents", 1)))).toMatchObject({
    ok: false,
    reason: "p95 is 1.00 ms with the policies spread over agents",
  });
  expect(judge("policy.10k", at(spread("tools", 0.02, 3), spread("agents", 0.5)))).toMatchObject({
    ok: false,
    errors: 3,
    reason: "3 decisions came out wrong",
  });
});

test("idle memory counts in MB of a million bytes", () => {
  expect(judge("idle.rss", { ...nothing, idleResidentBytes: 179_000_000 })).toMatchObject({ value: 179, ok: true });
  expect(judge("idle.rss", { ...nothing, idleResidentBytes: 180_000_000 })).toMatchObject({ ok: false });
});

test("look-ups are judged by their p95, by what they came to, and by how much was registered", () => {
  const registry = { lookups: true, versions: 110_000, n: 20_000, p50: 0.03, p95: 1.99, p99: 3, max: 28.5, wrong: 0 } as const;
  expect(judge("registry.100k", { ...nothing, registry })).toEqual({
    value: 1.99,
    unit: "ms",
    target: "p95 < 2 ms",
    ok: true,
    n: 20_000,
    p50: 0.03,
    p95: 1.99,
    p99: 3,
    max: 28.5,
    errors: 0,
  });
  const missed = { ...registry, p95: 2, wrong: 1, versions: 99_999 };
  expect(judge("registry.100k", { ...nothing, registry: missed })).toMatchObject({
    ok: false,
    errors: 1,
    reason: "p95 is 2.00 ms; 1 look-ups came to another version than they should have; only 99999 versions were registered",
  });
});

test("figures of the ledger do not count when the data lies in memory", () => {
  const measured = [slice("floor", 16, {}), slice("signalbox", 16, {})];
  expect(judge("echo.sqlite.c16", { ...nothing, measured, memoryFileSystem: "tmpfs" })).toMatchObject({
    ok: false,
    reason: "the data lies on tmpfs, where no fsync is real",
  });
});

test("streams: the first byte by its p95, the flood by its rate and by what the runtime grew by", () => {
  const ms = Array.from({ length: 100 }, (_, at) => at + 0.5);
  const flood = { bytes: 1_000_000_000, seconds: 20, residentBefore: 300e6, residentAfter: 364e6, residentPeak: 380e6, lost: 2e6 };
  const at = (more: Partial<typeof flood> = {}, firstMs = ms.map((one) => one / 2)): Evidence => ({
    ...nothing,
    streams: { firstMs, aloneMs: [1, 2, 3], besideMs: ms, flood: { ...flood, ...more } },
  });
  expect(judge("stream.first", at())).toEqual({ value: 47.25, unit: "ms", target: "p95 < 50 ms", ok: true, n: 100, p50: 24.75, p95: 47.25, p99: 49.25, max: 49.75, errors: 0 });
  expect(judge("stream.first", at({}, ms))).toMatchObject({ value: 94.5, ok: false, reason: "p95 is 94.5 ms" });
  expect(judge("stream.rate", at())).toMatchObject({
    value: 50,
    ok: true,
    reason: "1000 MB came, 2.00 MB were told as gaps; resident 300 MB before, 364 after, 380 at most",
  });
  expect(judge("stream.rate", at({ seconds: 20.1 }))).toMatchObject({ ok: false, reason: expect.stringMatching(/^49\.8 MB\/s; 1000 MB came/) as string });
  expect(judge("stream.rate", at({ residentAfter: 364.1e6 }))).toMatchObject({ ok: false, reason: expect.stringMatching(/^the runtime grew by 64\.1 MB; /) as string });
  expect(judge("stream.beside", at())).toMatchObject({ value: 94.5, ok: null, reason: "echo calls while the flood ran; alone p50 2.00 ms, p95 3.00 ms" });
});

test("what takes very long is measured only where it is asked for by name", () => {
  const names = (prefix: string): readonly string[] => specsFor(prefix).map(({ figure }) => figure);
  expect(names("").filter((name) => name.startsWith("history."))).toEqual([]);
  expect(names("")).toContain("door.grpc.many.c128");
  expect(names("history.1m")).toEqual(["history.1m"]);
  expect(names("history")).toEqual([
    "history.1m",
    "history.get",
    "history.list",
    "history.list.status",
    "history.audit",
    "history.list.tool",
    "history.list.principal",
    "history.audit.principal",
    "history.start",
    "history.append",
    "history.bytes",
  ]);
});
