// The sweep of retention: when it looks, how much it takes at once, and what it does when the ledger says no.
import { expect, test } from "vitest";
import { HandClock, settled } from "../../../../test/support/hand-clock.ts";
import type { Trimmed } from "../ledger/retention.ts";
import { Retention, sweepEveryMs } from "./retention.ts";

const day = 24 * 3_600_000;

/** A ledger of two tenants that tells what it was asked, with so many calls to remove. */
function setUp(calls: Record<string, number>, retentionMs = 7 * day) {
  const clock = new HandClock(100 * day);
  const asked: string[] = [];
  const trouble: string[] = [];
  const removed: (readonly [unknown, number | undefined])[] = [];
  let failing = false;
  const ledger = {
    tenants: async () => Object.keys(calls).map((tenant) => ({ tenant, weight: 1, createdAt: 0 })),
    trim: async (tenant: string, before: number, limit: number): Promise<Trimmed> => {
      if (failing) throw new Error("disk full");
      const gone = Math.min(limit, calls[tenant] ?? 0);
      calls[tenant] = (calls[tenant] ?? 0) - gone;
      asked.push(`${tenant} before day ${before / day}: ${gone}`);
      return { calls: gone, sessions: 0, deliveries: 0, more: gone === limit };
    },
    wantedContent: async (tenant: string) => ({ files: new Set([`${tenant} file`]), packages: new Set<string>() }),
  };
  const store = {
    collect: async (tenant: string, wanted: { readonly files: ReadonlySet<string> }) => {
      asked.push(`${tenant} keeps ${[...wanted.files].join(", ")}`);
      return { files: 0, bytes: 0 };
    },
  };
  const log = { info: () => undefined, warn: () => undefined, error: (_: object, message: string) => void trouble.push(message) };
  const meters = { count: (_: string, labels: unknown, by?: number) => void removed.push([labels, by]), observe: () => undefined, text: async () => "" };
  const retention = new Retention({ ledger, store, clock, log, meters } as unknown as ConstructorParameters<typeof Retention>[0], retentionMs);
  return { clock, retention, asked, trouble, removed, calls, fail: (now: boolean) => void (failing = now) };
}

test.each([
  ["a week is looked at every hour", 7 * day, 3_600_000],
  ["ten minutes every minute", 600_000, 60_000],
  ["a second every second", 1_000, 1_000],
])("%s", (_, retentionMs, everyMs) => expect(sweepEveryMs(retentionMs)).toBe(everyMs));

test("a sweep takes a hundred at a time, lets others in between, and then the files that nobody names", async () => {
  const { clock, retention, asked, removed } = setUp({ acme: 250, beta: 0 });
  retention.start();
  await clock.pass(3_600_000 - 1);
  expect(asked).toEqual([]);
  await clock.pass(1);
  await settled();
  expect(asked).toEqual([`acme before day ${93 + 1 / 24}: 100`]);
  await clock.pass(100);
  expect(asked.slice(1)).toEqual([
    `acme before day ${93 + 1 / 24}: 100`,
    `acme before day ${93 + 1 / 24}: 50`,
    "acme keeps acme file",
    `beta before day ${93 + 1 / 24}: 0`,
    "beta keeps beta file",
  ]);
  expect(removed).toEqual([[{ what: "call" }, 250]]);
});

test("a ledger that cannot write is told of once a sweep, and the next one goes on", async () => {
  const { clock, retention, trouble, calls, fail } = setUp({ acme: 5 }, 10_000);
  fail(true);
  retention.start();
  await clock.pass(2_000);
  expect(trouble).toHaveLength(2);
  fail(false);
  await clock.pass(1_000);
  expect([trouble.length, calls["acme"]]).toEqual([2, 0]);
});

test("after stop nothing is asked any more", async () => {
  const { clock, retention, asked } = setUp({ acme: 5 }, 10_000);
  retention.start();
  await retention.stop();
  await clock.pass(60_000);
  expect(asked).toEqual([]);
});
