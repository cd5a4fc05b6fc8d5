// A snapshot is small, continues only where it belongs, and is carried over from older machines.
import { describe, expect, test } from "vitest";
import {
  answer,
  drain,
  message,
  modelAnswers,
  toolCall,
  turnConfig,
} from "../../../../../test/support/scripted-turn.ts";
import { TurnMachine } from "./machine.ts";
import { SnapshotRefused, turnFingerprint, turnSchema } from "./snapshot.ts";

const config = turnConfig();

function inBatch(argumentsText = "{}"): TurnMachine {
  const machine = TurnMachine.start(config, [], [message("hello")]);
  drain(machine);
  machine.handle(modelAnswers({ id: 1 }, answer([toolCall("read", argumentsText)])));
  drain(machine);
  return machine;
}

const machine = inBatch();
const fields = JSON.parse(machine.snapshot()) as Readonly<Record<string, unknown>>;

/** Why it is not restored; undefined = it is. */
function refusal(text: string, given = config, history = machine.history): string | undefined {
  try {
    TurnMachine.restore(text, given, history);
    return undefined;
  } catch (error) {
    if (!(error instanceof SnapshotRefused)) throw error;
    expect(error.message.length).toBeGreaterThan(20);
    return error.reason;
  }
}

const changed = (more: Readonly<Record<string, unknown>>): string => JSON.stringify({ ...fields, ...more });

test("it says what it is", () => {
  expect(fields).toEqual({
    schema: 1,
    agentVersionId: "agv_01",
    fingerprint: "agv_01/turn-1",
    turn: 1,
    historyLength: 2,
    reported: 2,
    requests: 2,
    used: { steps: 1, tokens: 15, wall_clock: 100, tool_calls: 1 },
    granted: { steps: 0, tokens: 0, wall_clock: 0, tool_calls: 0 },
    emits: [],
    pending: { type: "RunTools", id: 2 },
    ending: null,
  });
  expect(turnSchema).toBe(1);
  expect(turnFingerprint("agv_01")).toBe("agv_01/turn-1");
});

test("its size does not hang on what was said", () => {
  const long = inBatch(JSON.stringify({ text: "x".repeat(100_000) }));
  expect(long.snapshot()).toBe(machine.snapshot());
  expect(machine.snapshot().length).toBeLessThan(500);
});

describe("it is not continued where it does not belong", () => {
  test.each([
    ["no JSON", "{", "unreadable"],
    ["no object", "[]", "unreadable"],
    ["no schema", changed({ schema: null }), "unreadable"],
    ["a newer schema", changed({ schema: 2 }), "newer_schema"],
    ["an older schema that nobody can read", changed({ schema: 0 }), "no_migration"],
    ["another fingerprint", changed({ fingerprint: "agv_02/turn-1" }), "other_fingerprint"],
    ["another turn", changed({ turn: 2 }), "other_turn"],
    ["a longer history", changed({ historyLength: 3 }), "other_history"],
    ["neither pending nor over", changed({ pending: null }), "unreadable"],
    [
      "both",
      changed({ ending: { end: "ended", reason: { code: "end_turn", message: "" }, told: false } }),
      "unreadable",
    ],
    ["pending under another number", changed({ pending: { type: "RunTools", id: 1 } }), "unreadable"],
    ["pending of an unknown kind", changed({ pending: { type: "Sleep", id: 2 } }), "unreadable"],
    [
      "an unknown limit",
      changed({ pending: { type: "AskLimit", id: 2, limit: "luck", before: "tools" } }),
      "unreadable",
    ],
    ["an unknown checkpoint", changed({ pending: { type: "Checkpoint", id: 2, when: "sometimes" } }), "unreadable"],
    ["no counters", changed({ used: {} }), "unreadable"],
    ["more reported than there is", changed({ reported: 3 }), "unreadable"],
    ["less reported than nothing", changed({ reported: -1 }), "unreadable"],
    ["as it was written", machine.snapshot(), undefined],
  ])("%s", (_title, text, reason) => {
    expect(refusal(text)).toBe(reason);
  });

  test("under the configuration of another agent version", () => {
    const other = turnConfig({}, { agentVersionId: "agv_02", fingerprint: turnFingerprint("agv_02") });
    expect(refusal(machine.snapshot(), other)).toBe("other_fingerprint");
  });

  test("with a history of which a part is missing", () => {
    expect(refusal(machine.snapshot(), config, machine.history.slice(0, 1))).toBe("other_history");
  });
});

describe("an older schema is migrated", () => {
  const older = JSON.stringify({ ...fields, schema: 1, used: undefined, spent: fields["used"] });
  const renamed = { 1: ({ spent, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, used: spent }) };
  const later = turnConfig({}, { fingerprint: "agv_01/turn-3" });

  test("step by step, and goes on where it stood", () => {
    const reader = {
      schema: 3,
      migrations: { ...renamed, 2: (snapshot: Readonly<Record<string, unknown>>) => snapshot },
    };
    const restored = TurnMachine.restore(older, later, machine.history, reader);
    expect(drain(restored)).toEqual([expect.objectContaining({ type: "RunTools", id: 2, activeMsLeft: 599_900 })]);
  });

  test("not over a step that is missing, and not for another agent version", () => {
    const restore = (reader: Parameters<typeof TurnMachine.restore>[3], given = later) =>
      TurnMachine.restore(older, given, machine.history, reader);
    expect(() => restore({ schema: 3, migrations: renamed })).toThrow(
      "there is no way from schema 2 of a snapshot to 3",
    );
    const other = turnConfig({}, { agentVersionId: "agv_02", fingerprint: "agv_02/turn-2" });
    expect(() => restore({ schema: 2, migrations: renamed }, other)).toThrow(SnapshotRefused);
  });
});
