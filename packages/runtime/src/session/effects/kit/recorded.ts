// Cases of what is recorded: it is answered and not done again, it is of the envelope that was asked, and it outlives its owner.
import { sleep } from "../sleep.ts";
import { Doer, Held, demand, envelopeOf, failsWith, journalOf, outcomeOf, same, type EffectCase } from "./world.ts";

/** Promises that hang on the journal get on with it. */
const aWhile = 1;

const durable: EffectCase = {
  id: "D6",
  name: "a store that forgets is refused before anything is done; a durable one is taken",
  needs: "journal",
  async run(make) {
    const { journal, owner } = await journalOf(make);
    await failsWith("effect_not_durable", (async () => journal.forgetfulOwner())());
    same(await owner().execute(envelopeOf(1), new Doer<never>(1).run), outcomeOf(1), "the outcome");
  },
};

const hashMatches: EffectCase = {
  id: "D8",
  name: "the same envelope is answered from the record, whatever is volatile about it",
  needs: "journal",
  async run(make) {
    const { owner } = await journalOf(make);
    await owner().execute(envelopeOf(1, { volatile: { attempt: 1 } }), new Doer<never>("first").run);
    const again = new Doer<never>("second");
    same(await owner().execute(envelopeOf(1, { volatile: { attempt: 2, deadline_at: 9 } }), again.run), outcomeOf("first"), "the outcome");
    same(again.times, 0, "how often it was done again");
  },
};

const hashDiffers: EffectCase = {
  id: "D8",
  name: "another envelope is an error that names the paths and tells no value",
  needs: "journal",
  async run(make) {
    const { owner } = await journalOf(make);
    await owner().execute(envelopeOf(1, { payload: { amount: "secret-one", same: 1, gone: true } }), new Doer<never>(1).run);
    const other = new Doer<never>(2);
    const failure = await failsWith("effect_hash_mismatch", owner().execute(envelopeOf(1, { payload: { amount: "secret-two", same: 1, added: [] } }), other.run));
    same(failure.paths, ["/payload/added", "/payload/amount", "/payload/gone"], "the paths");
    demand(!failure.message.includes("secret"), "the message tells a value");
    same(other.times, 0, "how often it was done");
  },
};

const conflict: EffectCase = {
  id: "D9",
  name: "the same key with another payload is a conflict while the first is still being done",
  needs: "journal",
  async run(make) {
    const { owner, pass } = await journalOf(make);
    const held = new Held<never>();
    const first = owner().execute(envelopeOf(1), held.run);
    await pass(aWhile);
    const failure = await failsWith("effect_hash_mismatch", owner().execute(envelopeOf(1, { subject: "scripted/other" }), new Doer<never>(2).run));
    same(failure.paths, ["/subject"], "the paths");
    held.end(1);
    same(await first, outcomeOf(1), "the first outcome");
  },
};

const strict: EffectCase = {
  id: "D10",
  name: "a strict replay answers what is recorded and never does anything",
  needs: "journal",
  async run(make) {
    const { owner, journal } = await journalOf(make);
    await owner().execute(envelopeOf(1), new Doer<never>("recorded").run);
    const doer = new Doer<never>("new");
    same(await journal.strictOwner().execute(envelopeOf(1), doer.run), outcomeOf("recorded"), "the recorded outcome");
    await failsWith("effect_missing", journal.strictOwner().execute(envelopeOf(2), doer.run));
    same(doer.times, 0, "how often something was done");
    same((await journal.rows()).length, 1, "the rows");
  },
};

const anyOrder: EffectCase = {
  id: "D11",
  name: "two effects that overlapped are answered by their keys, in whatever order they are asked for",
  needs: "journal",
  async run(make) {
    const { owner, pass } = await journalOf(make);
    const [one, two] = [new Held<never>(), new Held<never>()];
    const first = owner();
    const both = [first.execute(envelopeOf(1), one.run), first.execute(envelopeOf(2), two.run)];
    await pass(aWhile);
    same([one.begun, two.begun], [1, 1], "both are being done");
    two.end("two");
    await both[1];
    one.end("one");
    await both[0];
    const replay = owner();
    const doer = new Doer<never>("new");
    same(await replay.execute(envelopeOf(2), doer.run), outcomeOf("two"), "the second");
    same(await replay.execute(envelopeOf(1), doer.run), outcomeOf("one"), "the first");
    same(doer.times, 0, "how often something was done");
  },
};

const pause: EffectCase = {
  id: "D16",
  name: "a pause ends at the instant that was recorded, for a replay as well",
  needs: "journal",
  async run(make) {
    const { owner, pass, clock, journal } = await journalOf(make);
    const from = clock.now();
    const { scope, subject, cause, key } = envelopeOf(1);
    const names = { scope, subject, cause, key };
    const ends: number[] = [];
    void sleep(owner(), names, 120, clock).then((end) => ends.push(end));
    await pass(60);
    journal.takeOver();
    void sleep(owner(), names, 120, clock).then((end) => ends.push(end));
    await pass(59);
    same(ends, [], "nobody is awake before the time");
    await pass(1);
    same(ends, [from + 120, from + 120], "when the first and the one that took over are awake");
    await pass(1_000);
    void sleep(owner(), names, 120, clock).then((end) => ends.push(end));
    await pass(aWhile);
    same(ends.length, 3, "a replay does not wait again");
    same(ends[2], from + 120, "the instant that a replay gives");
  },
};

const wholeTurn: EffectCase = {
  id: "D17",
  name: "a whole turn is replayed without doing anything, and each completion was kept once with what belongs to it",
  needs: "journal",
  async run(make) {
    const { owner, journal } = await journalOf(make);
    const kinds = ["complete_model", "run_tools", "checkpoint", "complete_model", "checkpoint"];
    const turn = async (told: string): Promise<number> => {
      const holder = owner();
      let done = 0;
      for (const [place, kind] of kinds.entries()) {
        const doer = new Doer(`${told} ${place}`, { kind, beside: journal.mark(`${told} ${place}`) });
        same(await holder.execute(envelopeOf(place + 1, { kind }), doer.run), { kind, value: `first ${place}` }, `effect ${place + 1}`);
        done += doer.times;
      }
      return done;
    };
    same(await turn("first"), 5, "how many effects the turn did");
    journal.takeOver();
    same(await turn("replay"), 0, "how many the replay did");
    same(await journal.marks(), ["first 0", "first 1", "first 2", "first 3", "first 4"], "what was kept beside");
  },
};

const attempts: EffectCase = {
  id: "D20",
  name: "a replay answers with a tool's success and with its failure, and calls nothing",
  needs: "journal",
  async run(make) {
    const { owner } = await journalOf(make);
    const ends = [{ ok: true, output: { id: 7 } }, { ok: false, code: "tool_error" }];
    const first = owner();
    for (const [place, end] of ends.entries()) await first.execute(envelopeOf(place + 1), new Doer<never>(end).run);
    const doer = new Doer<never>("called");
    const replay = owner();
    for (const [place, end] of ends.entries()) same(await replay.execute(envelopeOf(place + 1), doer.run), outcomeOf(end), `attempt ${place}`);
    same(doer.times, 0, "how often a tool was called");
  },
};

export const recordedCases: readonly EffectCase[] = [durable, hashMatches, hashDiffers, conflict, strict, anyOrder, pause, wholeTurn, attempts];
