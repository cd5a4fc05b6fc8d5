// Cases that every effect controller has to pass: each effect crosses once, failures of the machinery stay what they are, kinds must fit.
import { EffectFailure } from "../failure.ts";
import { Doer, demand, envelopeOf, failsWith, outcomeOf, same, type EffectCase } from "./world.ts";

const once: EffectCase = {
  id: "D1",
  name: "a completion and a checkpoint cross the controller once each and come back as they are",
  needs: "nothing",
  async run(make) {
    const owner = (await make()).owner();
    const [model, checkpoint] = [new Doer<never>({ text: "hello" }), new Doer<never>({ messages: [] }, { kind: "checkpoint" })];
    same(await owner.execute(envelopeOf(1), model.run), outcomeOf({ text: "hello" }), "the completion");
    same(await owner.execute(envelopeOf(2, { kind: "checkpoint" }), checkpoint.run), { kind: "checkpoint", value: { messages: [] } }, "the checkpoint");
    same([model.times, checkpoint.times], [1, 1], "how often each was done");
  },
};

const refusal: EffectCase = {
  id: "D3",
  name: "a failure of the machinery comes through with its own code and is no outcome",
  needs: "nothing",
  async run(make) {
    const world = await make();
    const broken = new EffectFailure("tool_surface_resolution_failed", "t1.e1", "the tools could not be read");
    const failure = await failsWith("tool_surface_resolution_failed", world.owner().execute(envelopeOf(1), () => Promise.reject(broken)));
    demand(failure === broken, "the failure is another one than was thrown");
    const rows = (await world.journal?.rows()) ?? [];
    demand(rows.every(({ state, outcomeJson }) => state !== "completed" && outcomeJson === null), "the failure was recorded as an outcome");
  },
};

const wrongKind: EffectCase = {
  id: "D4",
  name: "an outcome of another kind than the effect's is refused and not recorded",
  needs: "nothing",
  async run(make) {
    const world = await make();
    await failsWith("effect_wrong_outcome", world.owner().execute(envelopeOf(1), new Doer<never>(1, { kind: "run_tools" }).run));
    const rows = (await world.journal?.rows()) ?? [];
    demand(rows.every(({ state }) => state !== "completed"), "the wrong outcome was recorded");
  },
};

const data: EffectCase = {
  id: "D20",
  name: "a tool's failure is an outcome like a success",
  needs: "nothing",
  async run(make) {
    const owner = (await make()).owner();
    const failed = { ok: false, code: "tool_error", message: "no such order" };
    same(await owner.execute(envelopeOf(1), new Doer<never>(failed).run), outcomeOf(failed), "the outcome");
  },
};

export const crossingCases: readonly EffectCase[] = [once, refusal, wrongKind, data];
