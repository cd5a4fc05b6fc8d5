// A turn as JSON text and back: written with every effect's completion, read by whoever takes the session over.
import { limits, parseJson } from "@signalbox/protocol";
import { countedLimits } from "./limits.ts";
import type { TurnState } from "./state.ts";
import type { TurnConfig } from "./types.ts";

/** Grows with every change of what a snapshot holds or of what the machine makes of it. */
export const turnSchema = 1;

/** What {@link TurnConfig.fingerprint} has to be for this machine. */
export function turnFingerprint(agentVersionId: string): string {
  return `${agentVersionId}/turn-${turnSchema}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** From schema n to n + 1. The fingerprint is not its business. */
export type Migration = (snapshot: Fields) => Fields;

/** By the schema that they start from. */
export const migrations: Readonly<Record<number, Migration>> = {};

/** A snapshot that this machine must not continue: the session cannot go on here, and says why. */
export class SnapshotRefused extends Error {
  readonly reason:
    | "unreadable"
    | "newer_schema"
    | "no_migration"
    | "other_fingerprint"
    | "other_turn"
    | "other_history";

  constructor(reason: SnapshotRefused["reason"], message: string) {
    super(message);
    this.name = "SnapshotRefused";
    this.reason = reason;
  }
}

/** History stands there as a length: its items are in the ledger. */
export function writeSnapshot(state: TurnState, config: TurnConfig, historyLength: number): string {
  const { agentVersionId, fingerprint, turn } = config;
  return JSON.stringify({ schema: turnSchema, agentVersionId, fingerprint, turn, historyLength, ...state });
}

/** Which machine reads; another one than this only in tests of migrations. */
export interface Reader {
  readonly schema: number;
  readonly migrations: Readonly<Record<number, Migration>>;
}

/**
 * @param historyLength items that the ledger holds
 * @throws SnapshotRefused
 */
export function readSnapshot(
  text: string,
  config: TurnConfig,
  historyLength: number,
  reader: Reader = { schema: turnSchema, migrations },
): TurnState {
  const written = parseSnapshot(text);
  const snapshot = migrate(written, reader);
  const sameMachine = written["schema"] === reader.schema;
  // A migration leaves the fingerprint of the older machine behind; of an older one only the agent has to be the same.
  const fits = sameMachine
    ? snapshot["fingerprint"] === config.fingerprint
    : snapshot["agentVersionId"] === config.agentVersionId;
  if (!fits)
    throw new SnapshotRefused(
      "other_fingerprint",
      `the snapshot is of ${named(snapshot["fingerprint"])} and the turn of ${named(config.fingerprint)}: continue it with the agent version that it was begun with`,
    );
  if (snapshot["turn"] !== config.turn)
    throw new SnapshotRefused("other_turn", `the snapshot is of turn ${named(snapshot["turn"])}, not ${config.turn}`);
  if (snapshot["historyLength"] !== historyLength)
    throw new SnapshotRefused(
      "other_history",
      `the snapshot goes with ${named(snapshot["historyLength"])} items of history and ${historyLength} were read: read them in one view of the ledger`,
    );
  if (!isState(snapshot)) throw new SnapshotRefused("unreadable", "the snapshot lacks fields of its schema");
  const { reported, requests, used, granted, emits, pending, ending } = snapshot;
  return { reported, requests, used, granted, emits, pending, ending };
}

const named = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "nothing";

function parseSnapshot(text: string): Fields {
  const parsed = parseJson(text, { depthMax: limits.jsonDepthMax });
  if (!parsed.ok) throw new SnapshotRefused("unreadable", `the snapshot is no JSON: ${parsed.problem.message}`);
  if (!isFields(parsed.value)) throw new SnapshotRefused("unreadable", "the snapshot is no JSON object");
  return parsed.value;
}

function migrate(written: Fields, reader: Reader): Fields {
  const { schema } = written;
  if (!isCount(schema)) throw new SnapshotRefused("unreadable", "the snapshot names no schema");
  if (schema > reader.schema)
    throw new SnapshotRefused(
      "newer_schema",
      `the snapshot has schema ${schema} and this runtime knows ${reader.schema}: let a newer replica continue it`,
    );
  let snapshot = written;
  for (let from = schema; from < reader.schema; from++) {
    const step = reader.migrations[from];
    if (step === undefined)
      throw new SnapshotRefused("no_migration", `there is no way from schema ${from} of a snapshot to ${from + 1}`);
    snapshot = step(snapshot);
  }
  return snapshot;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The row is our own; this tells one that another hand has changed from one that is whole. */
function isState(value: Fields): value is Fields & TurnState {
  const { pending, ending } = value;
  const counts = [value["used"], value["granted"]].every(
    (one) => isFields(one) && countedLimits.every((limit) => typeof one[limit] === "number"),
  );
  const numbers = ["reported", "requests"].every((field) => isCount(value[field]));
  const waits = isFields(pending) && pending["id"] === value["requests"] && isPending(pending);
  const over =
    pending === null && isFields(ending) && isFields(ending["reason"]) && typeof ending["told"] === "boolean";
  const told = (value["reported"] as number) <= (value["historyLength"] as number);
  return numbers && told && counts && Array.isArray(value["emits"]) && (over || (waits && ending === null));
}

function isPending({ type, when, limit, before }: Fields): boolean {
  switch (type) {
    case "CompleteModel":
    case "RunTools":
      return true;
    case "Checkpoint":
      return when === "after_work" || when === "before_completion";
    case "AskLimit":
      return countedLimits.some((one) => one === limit) && (before === "tools" || before === "completion");
    default:
      return false;
  }
}
