// Looks at the journal of a turn as it stands: are the rows what their effects' names, envelopes and outcomes say?
import { canonicalJson } from "@signalbox/protocol";
import type { JournalRow } from "../types.ts";
import { readOutcome } from "./decide.ts";
import { readJson } from "./envelope.ts";
import { EffectFailure } from "./failure.ts";
import type { EffectHash } from "./types.ts";

export type MismatchCode =
  /** The key names no effect of a turn. */
  | "bad_key"
  /** Effects are numbered from 1 without a gap; this one's predecessor is not there. */
  | "gap"
  /** It was begun before its predecessor was completed. */
  | "overtaken"
  /** It is the child of an effect that is not there. */
  | "orphan"
  | "duplicate"
  /** The envelope cannot be read, or is not in its canonical form. */
  | "bad_envelope"
  | "hash_differs"
  /** Envelope and row disagree; the paths say where. */
  | "row_differs"
  | "bad_outcome"
  /** A replay asked for another effect than was recorded; the paths say where they differ. */
  | "asked_otherwise"
  /** A replay did not ask for it. */
  | "not_asked";

export interface Mismatch {
  readonly key: string;
  readonly code: MismatchCode;
  /** JSON pointers into the envelope; empty where none is meant. */
  readonly paths: readonly string[];
}

export interface Place {
  readonly turn: number;
  readonly id: number;
  /** The key of the effect that it is a child of; null = it is none. */
  readonly parent: string | null;
}

/** `t2.e5` and `t2.e5.c0`; undefined for everything else. */
export function placeOf(key: string): Place | undefined {
  const found = /^(t([1-9][0-9]{0,8})\.e([1-9][0-9]{0,8})(?:\.c[0-9]{1,9})*?)(\.c[0-9]{1,9})?$/.exec(key);
  if (found === null) return undefined;
  const [, parent = "", turn, id, child] = found;
  return { turn: Number(turn), id: Number(id), parent: child === undefined ? null : parent };
}

const mismatch = (key: string, code: MismatchCode, paths: readonly string[] = []): Mismatch => ({ key, code, paths });

function inEnvelope(row: JournalRow, place: Place | undefined): readonly Mismatch[] {
  const read = readJson(row.envelopeJson)?.value;
  if (typeof read !== "object" || read === null || canonicalJson(read) !== row.envelopeJson) return [mismatch(row.key, "bad_envelope")];
  const envelope = read as Readonly<Record<string, unknown>>;
  const scope = (typeof envelope["scope"] === "object" && envelope["scope"] !== null ? envelope["scope"] : {}) as Readonly<Record<string, unknown>>;
  const expected: readonly (readonly [string, unknown, unknown])[] = [
    ["/key", envelope["key"], row.key],
    ["/kind", envelope["kind"], row.kind],
    ["/scope/sessionId", scope["sessionId"], row.sessionId],
    ["/scope/tenant", scope["tenant"], row.tenant],
    ...(place === undefined ? [] : [["/scope/turn", scope["turn"], place.turn] as const]),
    ...(place === undefined || place.parent === null ? [] : [["/cause", envelope["cause"], place.parent] as const]),
  ];
  const paths = expected.flatMap(([path, found, wanted]) => (found === wanted ? [] : [path]));
  return paths.length === 0 ? [] : [mismatch(row.key, "row_differs", paths)];
}

function inOutcome({ key, kind, state, completedAt, outcomeJson }: JournalRow): readonly Mismatch[] {
  const good = state === "completed" ? completedAt !== null && outcomeFits(key, kind, outcomeJson) : state === "claimed" && completedAt === null && outcomeJson === null;
  return good ? [] : [mismatch(key, "bad_outcome")];
}

function outcomeFits(key: string, kind: string, outcomeJson: string | null): boolean {
  try {
    readOutcome(key, kind, outcomeJson);
    return true;
  } catch (error) {
    if (error instanceof EffectFailure) return false;
    throw error;
  }
}

function inOrder(row: JournalRow, place: Place, byKey: ReadonlyMap<string, JournalRow>): readonly Mismatch[] {
  if (place.parent !== null) return byKey.has(place.parent) ? [] : [mismatch(row.key, "orphan")];
  if (place.id === 1) return [];
  const before = byKey.get(`t${place.turn}.e${place.id - 1}`);
  if (before === undefined) return [mismatch(row.key, "gap")];
  return before.state === "completed" ? [] : [mismatch(row.key, "overtaken")];
}

/** What does not fit, in the order of the rows; of one turn or of several. Empty = nothing was found. */
export function inspectJournal(rows: readonly JournalRow[], hash: EffectHash): readonly Mismatch[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return rows.flatMap((row) => {
    const place = placeOf(row.key);
    return [
      ...(byKey.get(row.key) === row ? [] : [mismatch(row.key, "duplicate")]),
      ...(place === undefined ? [mismatch(row.key, "bad_key")] : inOrder(row, place, byKey)),
      ...inEnvelope(row, place),
      ...(hash(row.envelopeJson) === row.hash ? [] : [mismatch(row.key, "hash_differs")]),
      ...inOutcome(row),
    ];
  });
}
