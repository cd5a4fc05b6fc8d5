// Plays a recorded turn to whoever asks for its effects, and says where that one asks for something else than was recorded.
import type { JournalRow } from "../types.ts";
import { readOutcome } from "./decide.ts";
import { differingPaths, sealed } from "./envelope.ts";
import { inspectJournal, placeOf, type Mismatch } from "./inspect.ts";
import type { EffectEnvelope, EffectHash, EffectOutcome } from "./types.ts";

/** A turn that is played again: it asks for one effect after the other. */
export interface ReplayedTurn {
  /** The effect that it wants now; undefined when it has ended. */
  next(): EffectEnvelope | undefined;
  answer(outcome: EffectOutcome): void;
}

export interface Replayed {
  /** Empty = the turn asks for what was recorded, as far as that goes. */
  readonly mismatches: readonly Mismatch[];
  /** How many effects were answered from the journal. */
  readonly answered: number;
}

/** Nothing is done: the turn is answered from the completed rows, in their order, and the first difference ends the replay. Rows that do not fit together are not played at all. */
export function replayTurn(rows: readonly JournalRow[], turn: ReplayedTurn, hash: EffectHash): Replayed {
  const broken = inspectJournal(rows, hash);
  if (broken.length > 0) return { mismatches: broken, answered: 0 };
  const own = rows.flatMap((row) => {
    const place = placeOf(row.key);
    return place === undefined || place.parent !== null ? [] : [{ row, place }];
  });
  own.sort((a, b) => a.place.turn - b.place.turn || a.place.id - b.place.id);
  let answered = 0;
  for (const { row } of own) {
    const envelope = turn.next();
    if (envelope === undefined) return { mismatches: [{ key: row.key, code: "not_asked", paths: [] }], answered };
    const asked = sealed(envelope, hash);
    if (asked.hash !== row.hash) return { mismatches: [{ key: row.key, code: "asked_otherwise", paths: differingPaths(row.envelopeJson, asked.envelopeJson) }], answered };
    // Its owner had not completed it: here the turn would go on by itself.
    if (row.state === "claimed") break;
    turn.answer(readOutcome(row.key, row.kind, row.outcomeJson));
    answered += 1;
  }
  return { mismatches: [], answered };
}
