// The decision table: what is found in the journal, and what becomes of the effect.
import type { JournalRow } from "../../types.ts";
import type { EffectClock } from "../types.ts";
import { Doer, envelopeOf, failsWith, journalOf, outcomeOf, rowOf, same, type EffectCase, type JournalWorld } from "./world.ts";

interface Behind {
  readonly clock: EffectClock;
  readonly journal: JournalWorld<unknown>;
}

interface Row {
  readonly name: string;
  /** Undefined: nothing is there. */
  readonly found?: (behind: Behind) => JournalRow;
  readonly strict?: true;
  /** `done`, `answered`, `waits` (and is done when the claim has run out), or the code with which it is refused. */
  readonly then: string;
}

const envelope = envelopeOf(1);
const recorded = '{"kind":"complete_model","value":"recorded"}';
const failure = { ok: false, code: "overloaded" };

/** Of another payload: whatever its state is, it is not what was asked. */
const other = (behind: Behind, more: Partial<JournalRow>): JournalRow => rowOf(envelopeOf(1, { payload: null }), behind, more);
const completed = (behind: Behind, outcomeJson: string | null): JournalRow => rowOf(envelope, behind, { state: "completed", completedAt: behind.clock.now(), outcomeJson });
const unknown = "abandoned" as JournalRow["state"];

const rows: readonly Row[] = [
  { name: "nothing is there: it is claimed and done", then: "done" },
  { name: "nothing is there, strict: refused", strict: true, then: "effect_missing" },
  { name: "another envelope, being done: refused at once", found: (behind) => other(behind, {}), then: "effect_hash_mismatch" },
  { name: "another envelope, completed: refused, not answered", found: (behind) => other(behind, { state: "completed", outcomeJson: recorded }), then: "effect_hash_mismatch" },
  { name: "another envelope with an unknown status: refused for the envelope", found: (behind) => other(behind, { state: unknown }), then: "effect_hash_mismatch" },
  { name: "another envelope, completed without an outcome: refused for the envelope", found: (behind) => other(behind, { state: "completed" }), then: "effect_hash_mismatch" },
  { name: "completed: answered", found: (behind) => completed(behind, recorded), then: "answered" },
  { name: "completed, strict: answered", found: (behind) => completed(behind, recorded), strict: true, then: "answered" },
  { name: "completed with a failure: answered with it", found: (behind) => completed(behind, `{"kind":"complete_model","value":${JSON.stringify(failure)}}`), then: "answered" },
  { name: "completed without an outcome: corrupt", found: (behind) => completed(behind, null), then: "effect_corrupt" },
  { name: "completed with an outcome that cannot be read: corrupt", found: (behind) => completed(behind, '{"kind":"complete_mo'), then: "effect_corrupt" },
  { name: "completed with another kind of outcome: refused", found: (behind) => completed(behind, '{"kind":"run_tools","value":"recorded"}'), then: "effect_wrong_outcome" },
  { name: "an unknown status: corrupt", found: (behind) => rowOf(envelope, behind, { state: unknown }), then: "effect_corrupt" },
  { name: "being done under this fence: waited for, and taken over when the claim has run out", found: (behind) => rowOf(envelope, behind), then: "waits" },
  { name: "a claim that ran out just now: taken over", found: (behind) => rowOf(envelope, behind, { claimExpiresAt: behind.clock.now() }), then: "done" },
  { name: "being done under an older fence: taken over", found: (behind) => rowOf(envelope, behind, { fence: behind.journal.fence() - 1 }), then: "done" },
  { name: "being done under a newer fence: refused", found: (behind) => rowOf(envelope, behind, { fence: behind.journal.fence() + 1 }), then: "lease_lost" },
  { name: "claimed, strict: refused", found: (behind) => rowOf(envelope, behind), strict: true, then: "effect_missing" },
];

function caseOf({ name, found, strict, then }: Row): EffectCase {
  return {
    id: "D22",
    name,
    needs: "journal",
    async run(make) {
      const world = await journalOf(make);
      const { journal, pass } = world;
      const planted = found?.({ clock: world.clock, journal });
      if (planted !== undefined) await journal.plant(planted);
      const doer = new Doer<never>("done");
      const going = (strict === true ? journal.strictOwner() : world.owner()).execute(envelope, doer.run);
      if (then === "waits") {
        await pass(journal.claimMs - 1);
        same(doer.times, 0, "how often it was done before the claim ran out");
        await pass(journal.claimMs);
      }
      if (then === "done" || then === "waits") same(await going, outcomeOf("done"), "the outcome");
      else if (then === "answered") same(await going, JSON.parse(planted?.outcomeJson ?? ""), "the outcome");
      else await failsWith(then, going);
      same(doer.times, then === "done" || then === "waits" ? 1 : 0, "how often it was done");
      if (planted !== undefined && doer.times === 0) same(await journal.rows(), [planted], "the rows, which nobody may have touched");
    },
  };
}

export const tableCases: readonly EffectCase[] = rows.map(caseOf);
