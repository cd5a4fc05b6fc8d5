// docs/limits.md says what the code says: every bound of every exported object once, with its value, and what happens past it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { hubLimits } from "../../packages/runtime/src/config.ts";
import { gatherBounds } from "./collect.ts";
import { proofs, type Proof } from "./proofs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(`${root}docs/limits.md`, "utf8");

interface Row {
  readonly bound: string;
  readonly is: string;
  readonly past: string;
  readonly change: string;
}

const rows: readonly Row[] = page.split(/^## /m).flatMap((section) => {
  const [, group = ""] = /^.*\(`(\w+)`\)$/m.exec(section.split("\n", 1)[0] ?? "") ?? [];
  return [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = "", cells = ""]) => {
    const [is = "", past = "", change = ""] = cells.split(" | ").map((cell) => cell.trim());
    return { bound: `${group}.${name}`, is, past, change };
  });
});

const units: Readonly<Record<string, number>> = {
  KiB: 1024,
  Ki: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
};

const isTest = (proof: Proof): proof is readonly [string, string] => Array.isArray(proof);

/** `1 MiB` → 1048576, `10 000 calls` → 10000, `0.1 of the wait` → 0.1. */
function numberOf(text: string): number {
  const [, number = "", word = ""] = /^(\d+(?: \d{3})*(?:\.\d+)?)(?: ([A-Za-z]+))?/.exec(text) ?? [];
  return Number(number.replaceAll(" ", "")) * (units[word] ?? 1);
}

test("every bound has one row, with the value that the code has", async () => {
  const told = rows.map(({ bound, is }) => `${bound} = ${numberOf(is)}`);
  const there = (await gatherBounds(root)).map(({ group, name, value }) => `${group}.${name} = ${value}`);
  expect(there.length).toBeGreaterThan(200);
  const sorted = (list: readonly string[]): readonly string[] => [...list].sort();
  expect(sorted(told)).toEqual(sorted(there));
});

test("a bound of time or size is told in units that people read", () => {
  for (const { bound, is } of rows) {
    if (/Ms(Max|Min)?$/.test(bound)) expect(is, bound).toMatch(/^[\d ]+ (ms|s|min|h|days)$/);
    if (/Bytes(Max)?$/.test(bound)) expect(is, bound).toMatch(/^[\d ]+ (bytes|KiB|MiB|GiB)$/);
  }
});

test("what can be passed says what happens then, and every row whether it can be changed", () => {
  for (const { bound, past, change } of rows) {
    if (bound.endsWith("Max")) expect(past, bound).toMatch(/\w/);
    expect(change, bound).toMatch(/^no$|`/);
  }
});

test("every bound has the test that proves it, or a reason why it has none", async () => {
  const there = (await gatherBounds(root)).map(({ group, name }) => `${group}.${name}`);
  const proven = Object.entries(proofs).flatMap(([group, ofGroup]) =>
    Object.entries(ofGroup).map(([name, proof]) => ({ bound: `${group}.${name}`, proof })),
  );
  expect(proven.map(({ bound }) => bound).sort()).toEqual([...there].sort());
  const unfounded = proven.flatMap(({ bound, proof }) => {
    if (!isTest(proof)) return proof.why.length > 10 ? [] : [`${bound} has no reason`];
    const [file, title] = proof;
    return readFileSync(`${root}${file}`, "utf8").includes(title) ? [] : [`${bound}: ${file} has no test "${title}"`];
  });
  expect(unfounded).toEqual([]);
});

test("the hub is given the page's own numbers", () => {
  expect(hubLimits).toEqual({
    queueWaitMs: 30_000,
    startDeadlineMs: 10_000,
    leaseMs: 15_000,
    stopMarginMs: 1_000,
    lostAttemptsMax: 3,
    placementsMax: 10,
    workerSilentMs: 10_000,
    heartbeatMs: 5_000,
    heartbeatsMissedMax: 2,
    lazyWriteMs: 100,
    queueDepthPerTenantMax: 1_000,
    workerCapacityMax: 10_000,
    handlersPerWorkerMax: 1_000,
    workersPerTenantMax: 1_000,
  });
});
