// Calls that go back to everybody: again when the ledger could not take them, and also those that a claim got without hearing of it.
import { beforeEach, expect, test } from "vitest";
import { LedgerUnavailable } from "../../ledger/port.ts";
import type { ReplicaPorts } from "./ports.ts";
import { Returns } from "./returns.ts";

const away = new LedgerUnavailable("the way was cut");
const named = (callId: string) => ({ tenant: "acme", callId });

let failing: boolean;
let released: string[][];
let withThis: string[];
let inMemory: Set<string>;
let returns: Returns;

beforeEach(() => {
  failing = false;
  released = [];
  withThis = [];
  inMemory = new Set();
  const whenUp = <T>(answer: () => T): Promise<T> => (failing ? Promise.reject(away) : Promise.resolve(answer()));
  const ledger = {
    release: (_replica: string, calls: readonly { callId: string }[]) => whenUp(() => void released.push(calls.map(({ callId }) => callId))),
    queuedWith: () => whenUp(() => withThis.map(named)),
  };
  const hub = { find: (_tenant: string, callId: string) => (inMemory.has(callId) ? {} : undefined) };
  returns = new Returns({ ledger, hub, replica: "r1" } as unknown as Pick<ReplicaPorts, "ledger" | "replica" | "hub">);
});

test("what could not be given back is told again, unless it has come into memory meanwhile", async () => {
  failing = true;
  await returns.giveBack([named("c1"), named("c2")]);
  failing = false;
  inMemory.add("c2");
  await returns.again();
  await returns.again();
  expect(released).toEqual([["c1"]]);
});

test("after a claim that failed, what is with this replica and unknown here goes back, once it can be read", async () => {
  withThis = ["c1", "c2"];
  inMemory.add("c2");
  await expect(returns.sure(() => Promise.reject(away))).rejects.toBe(away);
  failing = true;
  await returns.again();
  expect(released).toEqual([]);
  failing = false;
  await returns.again();
  await returns.again();
  expect(released).toEqual([["c1"]]);
});

test("a claim that was answered leaves nothing to look for", async () => {
  withThis = ["c1"];
  expect(await returns.sure(async () => "got")).toBe("got");
  await returns.again();
  expect(released).toEqual([]);
});
