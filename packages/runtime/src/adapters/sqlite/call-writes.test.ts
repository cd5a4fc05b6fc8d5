// Whatever way a row takes into the ledger, short or whole, it comes back as it was handed over.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appendEvents, sampleCall } from "../../../../../test/conformance/ledger-rows.ts";
import {
  openStates,
  routingOutcomes,
  terminalStates,
  type Attempt,
  type Call,
  type CallProgress,
} from "../../call/types.ts";
import { SqliteLedger } from "./ledger.ts";

/** Results longer than this stand in blobs; so short that both kinds come up. */
const inlineResultBytesMax = 12;

let folder = "";
let ledger: SqliteLedger;
let made = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-writes-"));
  ledger = new SqliteLedger({
    path: join(folder, "ledger.db"),
    auditKey: Buffer.alloc(32, 1),
    lane: "r1",
    now: Date.now,
    inlineResultBytesMax,
  });
});
afterEach(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true });
});

const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { freq: 2 });
// Few values each, so that a field often stays as it was.
const instant = fc.constantFrom(1_767_225_600_000, 1_767_225_600_007);
const word = fc.constantFrom("", "a", "é \u{1f600}");
const count = fc.nat(2);
const error = fc.record({
  code: fc.constantFrom("tool_error" as const, "timeout" as const),
  message: word,
  type: fc.constantFrom("tool" as const, "routing" as const),
  retryable: fc.boolean(),
});
/** The hash goes with the text: rows that share a blob have the same result. */
const output = fc
  .constantFrom(null, "1", '"short"', '"a result that is long"', '"another long result"')
  .map((json) => ({
    outputJson: json,
    outputHash: json === null ? null : `hash of ${json}`,
    outputBytes: json === null ? 0 : json.length,
  }));

function progressIn<State extends Call["state"]>(
  states: readonly State[],
): fc.Arbitrary<Omit<CallProgress, "eventSeq">> {
  const rest = fc.record({
    timeoutMs: count,
    resultBytesMax: count,
    state: fc.constantFrom(...states),
    routingOutcome: maybe(fc.constantFrom(...routingOutcomes)),
    fence: count,
    attempt: count,
    placements: count,
    mayHaveRun: fc.boolean(),
    effectiveArgsJson: maybe(word),
    argsEditedBy: maybe(word),
    approvalId: maybe(word),
    approval: maybe(fc.record({ by: fc.array(word, { maxLength: 2 }), at: instant })),
    startTag: fc.constantFrom(0.1, 7),
    notBefore: instant,
    enqueuedAt: instant,
    queueDeadlineAt: maybe(instant),
    startDeadlineAt: maybe(instant),
    provisionDeadlineAt: maybe(instant),
    runDeadlineAt: maybe(instant),
    leaseExpiresAt: maybe(instant),
    graceDeadlineAt: maybe(instant),
    dispatchedAt: maybe(instant),
    startedAt: maybe(instant),
    settledAt: maybe(instant),
    workerId: maybe(word),
    incarnation: maybe(word),
    replica: maybe(word),
    cancelRequestedAt: maybe(instant),
    cancelRequestedBy: maybe(word),
    stopReason: maybe(fc.constantFrom("cancel" as const, "timeout" as const, "total_deadline" as const)),
    outputIllFormed: fc.boolean(),
    error: maybe(error),
    usage: maybe(fc.record({ durationMs: fc.constantFrom(1, 2.5) })),
    cachedFrom: maybe(word),
  });
  return fc.tuple(rest, output).map(([one, result]) => ({ ...one, ...result }));
}

/** Nothing has happened but admission, and perhaps a dispatch. */
const untouched = {
  routingOutcome: null,
  fence: 1,
  attempt: 1,
  placements: 0,
  mayHaveRun: false,
  argsEditedBy: null,
  approval: null,
  provisionDeadlineAt: null,
  runDeadlineAt: null,
  graceDeadlineAt: null,
  startedAt: null,
  settledAt: null,
  cancelRequestedAt: null,
  cancelRequestedBy: null,
  stopReason: null,
  outputJson: null,
  outputHash: null,
  outputBytes: 0,
  outputIllFormed: false,
  error: null,
  usage: null,
  cachedFrom: null,
} as const;

const fresh = progressIn(["queued", "dispatched", "awaiting_approval"]).map((any) => ({ ...any, ...untouched }));

const identity = fc.record({
  sandbox: maybe(word),
  boxJson: maybe(word),
  filesJson: word,
  onBehalfOf: word,
  sessionId: word,
  turn: count,
  step: count,
  index: count,
  idempotencyKey: fc.constant(null),
  inputJson: maybe(word),
  totalDeadlineAt: maybe(instant),
});

const nextId = (): string => `c${(made += 1)}`;

test("a row that is inserted", () =>
  fc.assert(
    fc.asyncProperty(identity, fc.oneof(fresh, progressIn(openStates)), count, async (about, progress, events) => {
      const row: Call = { ...sampleCall({ callId: nextId() }), ...about, ...progress, eventSeq: events };
      const told = appendEvents(row, 1, ...Array.from({ length: events }, () => "progress" as const));
      expect(await ledger.commit({ writes: [{ op: "insert_call", row }, ...told] })).toEqual({ applied: true });
      expect(await ledger.getCall("acme", row.callId)).toEqual(row);
      expect(await ledger.events("acme", row.callId, 0, 10)).toHaveLength(events);
    }),
    { numRuns: 200 },
  ));

test.each<Partial<Call>>([
  { routingOutcome: "no_handler" },
  { fence: 2 },
  { attempt: 2 },
  { placements: 1 },
  { mayHaveRun: true },
  { argsEditedBy: "user:ada" },
  { approval: { by: ["user:ada"], at: 7 } },
  { provisionDeadlineAt: 5 },
  { runDeadlineAt: 5 },
  { graceDeadlineAt: 5 },
  { startedAt: 5 },
  { settledAt: 5 },
  { cancelRequestedAt: 5 },
  { cancelRequestedBy: "user:ada" },
  { stopReason: "cancel" },
  { outputJson: "1" },
  { outputHash: "h" },
  { outputBytes: 1 },
  { outputIllFormed: true },
  { error: { code: "timeout", message: "m", type: "routing", retryable: false } },
  { usage: { durationMs: 1 } },
])("a first row that has %j already", async (fields) => {
  const row: Call = { ...sampleCall({ callId: nextId() }), ...untouched, ...fields };
  await ledger.commit({ writes: [{ op: "insert_call", row }] });
  expect(await ledger.getCall("acme", row.callId)).toEqual(row);
});

test("a row that is updated, by what it differs in and whole", () =>
  fc.assert(
    fc.asyncProperty(
      progressIn(openStates),
      fc.oneof(progressIn(openStates), progressIn(terminalStates)),
      fc.uniqueArray(fc.nat(40), { maxLength: 34 }),
      count,
      async (first, second, kept, events) => {
        const callIds = [nextId(), nextId()];
        for (const [at, callId] of callIds.entries()) {
          const before: Call = { ...sampleCall({ callId }), ...first, eventSeq: 0 };
          // Some fields stay as they were, whatever they are.
          const names = Object.keys(first).filter((name) => name !== "state" && !name.startsWith("output"));
          const same = Object.fromEntries(
            kept
              .map((one) => names[one % names.length] ?? "fence")
              .map((name) => [name, first[name as keyof typeof first]]),
          );
          const row: Call = { ...before, ...second, ...same, eventSeq: events };
          await ledger.commit({ writes: [{ op: "insert_call", row: before }] });
          const outcome = await ledger.commit({
            writes: [
              {
                op: "update_call",
                expect: { state: before.state, fence: before.fence },
                ...(at === 0 ? { before } : {}),
                row,
              },
              ...appendEvents(row, 1, ...Array.from({ length: events }, () => "progress" as const)),
            ],
          });
          expect(outcome).toEqual({ applied: true });
          expect(await ledger.getCall("acme", callId)).toEqual(row);
        }
      },
    ),
    { numRuns: 300 },
  ));

test("the end of the lease that settles a call", () =>
  fc.assert(
    fc.asyncProperty(
      progressIn(terminalStates),
      fc.subarray(["fence", "workerId", "startedAt", "error", "usage"] as const),
      async (end, other) => {
        const held = { workerId: "w", incarnation: "i", replica: "r", dispatchedAt: 5, fence: 3 };
        const before: Call = { ...sampleCall({ callId: nextId() }), ...held, eventSeq: 0 };
        const row: Call = { ...before, ...end, ...held };
        const attempt: Attempt = {
          ...held,
          tenant: row.tenant,
          callId: row.callId,
          attempt: row.attempt,
          acceptedAt: 6,
          startedAt: row.startedAt,
          endedAt: row.settledAt,
          endReason: "failed",
          error: row.error,
          usage: row.usage,
          ...(other.includes("fence") ? { fence: 2 } : {}),
          ...(other.includes("workerId") ? { workerId: "v" } : {}),
          ...(other.includes("startedAt") ? { startedAt: 9 } : {}),
          ...(other.includes("error") ? { error: null } : {}),
          ...(other.includes("usage") ? { usage: { durationMs: 9 } } : {}),
        };
        await ledger.commit({ writes: [{ op: "insert_call", row: before }] });
        await ledger.commit({
          writes: [
            { op: "update_call", expect: { state: "dispatched", fence: 3 }, before, row },
            { op: "end_attempt", row: attempt },
          ],
        });
        expect(await ledger.attempts("acme", row.callId)).toEqual([attempt]);
        expect(await ledger.getCall("acme", row.callId)).toEqual(row);
      },
    ),
    { numRuns: 200 },
  ));
