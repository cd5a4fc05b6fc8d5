// The two forms of the report, on one figure that passes and one that misses.
import { expect, test } from "vitest";
import type { Figure } from "./figures.ts";
import { jsonLine, table } from "./report.ts";

const none = { p50: null, p95: null, p99: null, max: null };
const good: Figure = {
  ...none,
  n: 9,
  errors: 0,
  ok: true,
  target: "< 180 MB",
  unit: "MB",
  value: 135.5,
  figure: "idle.rss",
};
const missed: Figure = {
  figure: "cpu.per_call",
  value: 271.25,
  unit: "us",
  target: "<= 1.6 x floor at c=128",
  ok: false,
  n: 1_000,
  ...none,
  errors: 0,
  floor: { value: 64.5 },
  ratio: 4.2,
  floor_spread: 4,
  reason: "CPU a call is 4.20 x the floor's",
};
const machine = {
  cpu: "Test CPU",
  cores: 2,
  memory_gib: 4,
  kernel: "6.1",
  data_fs: "ext2/ext3",
  fsync_ms: 0.25,
  others_cpu_percent: 12,
};
const versions = { node: "24.0.0", sqlite: "3.50.0", signalbox: "0.1.0", commit: "abc" };

test("a JSON line holds the promised keys in their order, and the floor's only where there is one", () => {
  const line = jsonLine(good, machine, versions);
  expect(line.startsWith('{"figure":"idle.rss","value":135.5,"unit":"MB","target":"< 180 MB","ok":true,"n":9,')).toBe(
    true,
  );
  const first = [
    "figure",
    "value",
    "unit",
    "target",
    "ok",
    "n",
    "p50",
    "p95",
    "p99",
    "max",
    "errors",
    "machine",
    "versions",
  ];
  expect(Object.keys(JSON.parse(line) as object)).toEqual(first);
  const keys = Object.keys(JSON.parse(jsonLine(missed, machine, versions)) as object);
  expect(keys).toEqual([...first, "floor", "ratio", "floor_spread", "reason"]);
});

test("CPU a call stands behind the latencies, where a figure has it", () => {
  const door: Figure = { ...good, figure: "door.rest.c1", unit: "calls/s", value: 512, target: null, max: 9, cpu_us: 301.25 };
  const line = JSON.parse(jsonLine(door, machine, versions)) as object;
  expect(Object.keys(line).at(-1)).toBe("cpu_us");
  expect(table([door], machine, versions)).toMatch(/^door\.rest\.c1 +512\.0 calls\/s +9\.00 +301\.3 +ok$/m);
});

test("the table names a miss, its reason, and a noisy machine", () => {
  const text = table([good, missed], machine, versions);
  expect(text).toMatch(/^others +used 12 % of the cores meanwhile: NOISY/m);
  expect(text).toMatch(/^idle\.rss +135\.5 MB .* ok$/m);
  expect(text).toMatch(/^cpu\.per_call +271\.3 us .*64\.50 +4\.20 +4 % +MISS$/m);
  expect(text).toMatch(/^MISS {2}cpu\.per_call: CPU a call is 4\.20 x the floor's$/m);
});
