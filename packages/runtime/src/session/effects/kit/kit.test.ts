// Both effect controllers against the kit, and the kit against controllers that are wrong.
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HandClock, settled } from "../../../../../../test/support/hand-clock.ts";
import { MemoryJournal } from "../../../../../../test/support/memory-journal.ts";
import { InlineEffects } from "../inline.ts";
import { LedgerEffects } from "../ledger.ts";
import type { EffectController } from "../types.ts";
import { effectControllerKit } from "./kit.ts";
import type { EffectWorld } from "./world.ts";

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

function inlineWorld(): EffectWorld<unknown> {
  const clock = new HandClock(1_000);
  return { clock, owner: () => new InlineEffects(hash), pass: (ms) => clock.pass(ms) };
}

/** @param warp puts something between the journal's controller and the kit */
function ledgerWorld(warp: (controller: EffectController<string>) => EffectController<string> = (same) => same): EffectWorld<string> {
  const clock = new HandClock(1_000);
  const store = new MemoryJournal();
  store.fence = 7;
  const claimMs = 300;
  const owner = (replayOnly: boolean) => warp(new LedgerEffects<string>({ store, clock, hash, fence: store.fence, claimMs, pollMs: 50, waitMsMax: 10_000, replayOnly }));
  return {
    clock,
    owner: () => owner(false),
    pass: async (ms) => {
      await settled();
      await clock.pass(ms);
    },
    journal: {
      hash,
      claimMs,
      fence: () => store.fence,
      takeOver: () => void (store.fence += 1),
      strictOwner: () => owner(true),
      forgetfulOwner: () => new LedgerEffects<string>({ store: Object.assign(new MemoryJournal(), { durable: false }), clock, hash, fence: 1, claimMs, pollMs: 50, waitMsMax: 1 }),
      freeze: (ms) => clock.skip(ms),
      plant: async (row) => store.plant(row),
      rows: async () => [...store.rows.values()],
      mark: (text) => text,
      marks: async () => store.beside,
    },
  };
}

describe("the ledger's controller", () => {
  test.each(effectControllerKit)("$id: $name", async (one) => {
    await one.run(() => ledgerWorld());
  });
});

describe("the inline controller", () => {
  test.each(effectControllerKit.filter(({ needs }) => needs === "nothing"))("$id: $name", async (one) => {
    await one.run(inlineWorld);
  });
});

async function redCases(make: () => EffectWorld<string>): Promise<string[]> {
  const red: string[] = [];
  for (const one of effectControllerKit) {
    try {
      await one.run(make);
    } catch {
      red.push(one.id);
    }
  }
  return red;
}

describe("the kit finds controllers that", () => {
  test("do every effect twice", async () => {
    const twice = (controller: EffectController<string>): EffectController<string> => ({
      execute: (envelope, run) => controller.execute(envelope, async (signal) => {
        await run(signal);
        return run(signal);
      }),
    });
    expect(await redCases(() => ledgerWorld(twice))).toEqual(expect.arrayContaining(["D1", "D17", "D22"]));
  });

  test("store failures of the machinery", async () => {
    const storing = (controller: EffectController<string>): EffectController<string> => ({
      execute: (envelope, run) => controller.execute(envelope, (signal) => run(signal).catch((error: unknown) => ({ outcome: { kind: envelope.kind, value: String(error) } }))),
    });
    expect(await redCases(() => ledgerWorld(storing))).toEqual(expect.arrayContaining(["D3"]));
  });

  test("do what is recorded", async () => {
    const forgetful = (controller: EffectController<string>): EffectController<string> => ({
      execute: async (envelope, run) => {
        await controller.execute(envelope, run);
        return (await run(new AbortController().signal)).outcome;
      },
    });
    expect(await redCases(() => ledgerWorld(forgetful))).toEqual(expect.arrayContaining(["D1", "D8", "D10", "D17", "D20", "D22"]));
  });
});

test("the kit has every case of its list, and the table has all of its rows", () => {
  const ids = [...new Set(effectControllerKit.map(({ id }) => id))];
  expect(ids.toSorted((a, b) => Number(a.slice(1)) - Number(b.slice(1)))).toEqual(["D1", "D3", "D4", "D6", "D8", "D9", "D10", "D11", "D12", "D13", "D14", "D15", "D16", "D17", "D20", "D22"]);
  expect(effectControllerKit.filter(({ id }) => id === "D22")).toHaveLength(18);
  expect(new Set(effectControllerKit.map(({ id, name }) => `${id} ${name}`)).size).toBe(effectControllerKit.length);
});
