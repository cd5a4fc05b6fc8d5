// Cases of claims: they keep others out while they are renewed, run out, are taken over, and leave a late owner with nothing.
import { Doer, Held, demand, envelopeOf, failsWith, journalOf, outcomeOf, same, type EffectCase } from "./world.ts";

const aWhile = 1;

const takenOver: EffectCase = {
  id: "D12",
  name: "another takes over what its owner left; the late owner is refused, and a replay gives the second outcome",
  needs: "journal",
  async run(make) {
    const { owner, pass, journal } = await journalOf(make);
    const held = new Held<typeof mark>();
    const mark = journal.mark("first");
    const late = owner().execute(envelopeOf(1), held.run);
    await pass(aWhile);
    // The first process stands still, and its session goes to another.
    journal.freeze(journal.claimMs);
    journal.takeOver();
    same(await owner().execute(envelopeOf(1), new Doer("second", { beside: journal.mark("second") }).run), outcomeOf("second"), "the second owner's outcome");
    held.end("first", mark);
    await failsWith("lease_lost", late);
    const again = new Doer<never>("third");
    same(await owner().execute(envelopeOf(1), again.run), outcomeOf("second"), "the replay");
    same(again.times, 0, "how often it was done again");
    same(await journal.marks(), ["second"], "what was kept beside");
  },
};

const renewed: EffectCase = {
  id: "D13",
  name: "a claim that is renewed keeps others out for three times its length, and they get its outcome",
  needs: "journal",
  async run(make) {
    const { owner, pass, journal } = await journalOf(make);
    const held = new Held<never>();
    const first = owner().execute(envelopeOf(1), held.run);
    await pass(aWhile);
    const other = new Doer<never>("other");
    const waiting = owner().execute(envelopeOf(1), other.run);
    await pass(3 * journal.claimMs);
    same(other.times, 0, "how often another did it");
    demand(held.signal?.aborted === false, "the owner was told to stop");
    held.end("owner");
    same(await first, outcomeOf("owner"), "the owner's outcome");
    await pass(journal.claimMs);
    same(await waiting, outcomeOf("owner"), "what the other is answered");
    same([held.begun, other.times], [1, 0], "how often each did it");
  },
};

const stolen: EffectCase = {
  id: "D14",
  name: "an owner whose session was taken is told to stop, and fails",
  needs: "journal",
  async run(make) {
    const { owner, pass, journal } = await journalOf(make);
    const held = new Held<never>();
    const losing = failsWith("lease_lost", owner().execute(envelopeOf(1), held.run));
    await pass(aWhile);
    journal.takeOver();
    same(await owner().execute(envelopeOf(1), new Doer<never>("second").run), outcomeOf("second"), "the outcome of the one who took it");
    await pass(journal.claimMs);
    demand(held.signal?.aborted === true, "the owner was not told to stop");
    await losing;
  },
};

const expired: EffectCase = {
  id: "D15",
  name: "an owner that comes back after its claim ran out records nothing, though nobody took it",
  needs: "journal",
  async run(make) {
    const { owner, pass, journal } = await journalOf(make);
    const held = new Held<typeof mark>();
    const mark = journal.mark("late");
    const late = owner().execute(envelopeOf(1), held.run);
    await pass(aWhile);
    journal.freeze(journal.claimMs);
    held.end("late", mark);
    await failsWith("lease_lost", late);
    same((await journal.rows()).map(({ state }) => state), ["claimed"], "the rows");
    same(await journal.marks(), [], "what was kept beside");
  },
};

export const ownerCases: readonly EffectCase[] = [takenOver, renewed, stolen, expired];
