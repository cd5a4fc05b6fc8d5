// Random walks through turns: what has to hold whatever a model, tools, people and crashes do.
import fc from "fast-check";
import { expect, test } from "vitest";
import { diceOf, randomConfig, randomResponse, strayResponse } from "../../../../../test/support/random-turn.ts";
import { isRequest, message } from "../../../../../test/support/scripted-turn.ts";
import { pairingFault } from "../provider-names.ts";
import type { HistoryItem } from "../types.ts";
import { TurnMachine } from "./machine.ts";
import type { Effect, Request, Response, TurnConfig } from "./types.ts";

/** Long and even: short lists of small numbers would see little of what can happen. */
const rolls = fc.array(fc.noBias(fc.nat({ max: 1_000_000 })), { maxLength: 400, size: "max" });

interface Walk {
  readonly config: TurnConfig;
  readonly start: readonly HistoryItem[];
  readonly machine: TurnMachine;
  readonly effects: readonly Effect[];
  readonly responses: readonly Response[];
}

const before: readonly HistoryItem[] = [
  { type: "user", turn: 0, by: "user:ann", text: "earlier", inboxSeq: 0 },
  {
    type: "assistant",
    turn: 0,
    step: 1,
    parts: [{ type: "text", text: "yes" }],
    stop: "end_turn",
    usage: { inputTokens: 1, outputTokens: 1 },
  },
];

/** `each` is asked at every point, before the machine is; it may give another machine to go on with. */
function walk(
  numbers: readonly number[],
  each: (machine: TurnMachine, outstanding: Request | undefined, config: TurnConfig) => TurnMachine = (machine) =>
    machine,
): Walk {
  const dice = diceOf(numbers);
  const config = randomConfig(dice);
  let machine = TurnMachine.start(config, before, [message("go")]);
  const effects: Effect[] = [];
  const responses: Response[] = [];
  for (let count = 0; count < 2_000; count++) {
    machine = each(machine, undefined, config);
    const effect = machine.poll();
    if (effect === undefined) throw new Error("the machine says nothing and is not done");
    effects.push(effect);
    if (effect.type === "Done")
      return { config, start: before, machine: each(machine, undefined, config), effects, responses };
    if (!isRequest(effect)) continue;
    machine = each(machine, effect, config);
    const response = randomResponse(effect, dice);
    responses.push(response);
    expect(machine.handle(response)).toEqual({ accepted: true });
  }
  throw new Error("the turn does not end");
}

const bytes = (effects: readonly Effect[]): string => effects.map((effect) => JSON.stringify(effect)).join("\n");

test("requests are numbered from 1 without a gap, and the walk ends with the one Done", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      const { effects, machine } = walk(numbers);
      const ids = effects.filter(isRequest).map(({ id }) => id);
      expect(ids).toEqual(ids.map((_, index) => index + 1));
      expect(effects.filter(({ type }) => type === "Done")).toEqual([effects.at(-1)]);
      expect(machine.poll()).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

test("whatever else comes, there are never two outstanding requests, and nothing changes", () => {
  fc.assert(
    fc.property(rolls, rolls, (numbers, noise) => {
      const dice = diceOf(noise);
      const disturbed = walk(numbers, (machine, outstanding) => {
        const snapshot = machine.snapshot();
        const handled = machine.handle(strayResponse(outstanding, dice));
        expect(handled.accepted).toBe(false);
        expect(machine.snapshot()).toBe(snapshot);
        if (outstanding !== undefined) expect(machine.poll()).toBeUndefined();
        return machine;
      });
      expect(bytes(disturbed.effects)).toBe(bytes(walk(numbers).effects));
    }),
    { numRuns: 300 },
  );
});

test("a recorded list of responses, read back from JSON, gives a byte-equal list of effects", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      const first = walk(numbers);
      const recorded = first.responses.map((response) => JSON.parse(JSON.stringify(response)) as Response);
      const machine = TurnMachine.start(first.config, first.start, [message("go")]);
      const effects: Effect[] = [];
      for (let effect = machine.poll(); effect !== undefined; effect = machine.poll()) {
        effects.push(effect);
        if (!isRequest(effect)) continue;
        const response = recorded[effect.id - 1];
        if (response !== undefined) machine.handle(response);
      }
      expect(bytes(effects)).toBe(bytes(first.effects));
      expect(machine.snapshot()).toBe(first.machine.snapshot());
    }),
    { numRuns: 300 },
  );
});

test("put down and taken up again at every point, it goes on the same way", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      const uninterrupted = walk(numbers);
      const interrupted = walk(numbers, (machine, outstanding, config) => {
        const history = JSON.parse(JSON.stringify(machine.history)) as readonly HistoryItem[];
        const restored = TurnMachine.restore(machine.snapshot(), config, history);
        expect(restored.snapshot()).toBe(machine.snapshot());
        // What waited for its response is asked for again, to the byte.
        if (outstanding !== undefined) expect(JSON.stringify(restored.poll())).toBe(JSON.stringify(outstanding));
        return restored;
      });
      expect(bytes(interrupted.effects)).toBe(bytes(uninterrupted.effects));
      expect(interrupted.machine.history).toEqual(uninterrupted.machine.history);
    }),
    { numRuns: 300 },
  );
});

test("history can always be gone on with: at every completion and at the end each call has its one result", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      const { machine, config } = walk(numbers, (at, outstanding) => {
        if (outstanding?.type === "CompleteModel") {
          expect(pairingFault(at.history)).toBeUndefined();
          // A model answers people or results; some providers refuse to be asked behind their own words.
          expect(at.history.at(-1)?.type).not.toBe("assistant");
        }
        return at;
      });
      expect(pairingFault(machine.history)).toBeUndefined();
      const next = TurnMachine.start({ ...config, turn: 2 }, machine.history, [message("again", 9)]);
      expect(next.history.slice(0, -1)).toEqual(machine.history);
    }),
    { numRuns: 500 },
  );
});

test("wherever a turn is dropped, the next one can go on from its history", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      walk(numbers, (machine, _outstanding, config) => {
        const next = TurnMachine.start({ ...config, turn: 2 }, machine.history, [message("again", 9)]);
        expect(pairingFault(next.history)).toBeUndefined();
        return machine;
      });
    }),
    { numRuns: 100 },
  );
});

test("every item of history is told once, in order, and no call is asked for twice", () => {
  fc.assert(
    fc.property(rolls, (numbers) => {
      const { effects, machine, start } = walk(numbers);
      const told = effects.flatMap((effect) =>
        effect.type === "Progress" || effect.type === "Done" ? effect.added : [],
      );
      expect([...start, ...told]).toEqual(machine.history);
      const run = effects.flatMap((effect) =>
        effect.type === "RunTools" ? effect.calls.filter(({ settled }) => settled === null) : [],
      );
      expect(new Set(run.map(({ callId }) => callId)).size).toBe(run.length);
    }),
    { numRuns: 300 },
  );
});

test("walks go everywhere", () => {
  const seen = new Map<string, number>();
  for (const numbers of fc.sample(rolls, { numRuns: 1_500, seed: 7 })) {
    for (const effect of walk(numbers).effects) {
      const what = effect.type === "Done" ? `Done ${effect.end} ${effect.reason.code}` : effect.type;
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
  }
  expect([...seen.keys()].sort()).toEqual(
    [
      "AskLimit",
      "Checkpoint",
      "CompleteModel",
      "Done cancelled cancelled",
      "Done ended end_turn",
      "Done ended limit_approval_wait",
      "Done ended limit_steps",
      "Done ended limit_tokens",
      "Done ended limit_tool_calls",
      "Done ended limit_wall_clock",
      "Done ended max_tokens",
      "Done ended model_failed",
      "Done ended refusal",
      "Done failed approval_rejected",
      "Done failed tool_surface_resolution_failed",
      "Emit",
      "Progress",
      "RunTools",
    ].sort(),
  );
});
