// The keyed hash chain of the audit: what a link, a head and an anchor say, and how a lane of them is checked.
import type { AuditDraft, AuditProblem, AuditRecord } from "./audit.ts";

/** Hex HMAC-SHA-256 of a text under the audit key, which never stands in the ledger. */
export type Hmac = (text: string) => string;

export const firstPrevHash = "0".repeat(64);

type FieldKind = "text" | "number" | "json";

/** Every fact of a record in the order in which it is hashed and stored. The order is part of the format: only append. */
export const auditFields = [
  ["tenant", "text"],
  ["lane", "text"],
  ["seq", "number"],
  ["ts", "number"],
  ["project", "text"],
  ["principal", "text"],
  ["onBehalfOf", "text"],
  ["action", "text"],
  ["tool", "text"],
  ["version", "text"],
  ["manifestDigest", "text"],
  ["executionId", "text"],
  ["callId", "text"],
  ["attempt", "number"],
  ["inputHash", "text"],
  ["outputHash", "text"],
  ["status", "text"],
  ["errorCode", "text"],
  ["sandbox", "text"],
  ["worker", "text"],
  ["egress", "json"],
  ["secretsUsed", "json"],
  ["policy", "json"],
  ["approval", "json"],
  ["cache", "text"],
  ["durationMs", "number"],
  ["resources", "json"],
  ["requestId", "text"],
  ["traceId", "text"],
  ["details", "json"],
] as const satisfies readonly (readonly [Exclude<keyof AuditRecord, "prevHash" | "hash">, FieldKind])[];

/** One stored fact: text, number, or canonical JSON text; null where the record does not have it. */
export type AuditValue = string | number | null;

/** What the chain needs of one record. `text` is its canonical text. */
export interface AuditLink {
  readonly seq: number;
  readonly prevHash: string;
  readonly hash: string;
  readonly text: string;
}

export interface AuditHead {
  readonly tenant: string;
  readonly lane: string;
  /** The last seq of the lane. */
  readonly seq: number;
  /** The hash of that record. */
  readonly hash: string;
}

export interface SignedHead extends AuditHead {
  readonly mac: string;
}

/** All heads at one time, kept apart from the records; finds a tail that was cut together with its head. */
export interface AuditAnchor {
  readonly heads: readonly AuditHead[];
  readonly mac: string;
}

/** Databases refuse or mangle lone surrogates and U+0000, and a record that reads back differently would look forged. */
function text(value: unknown): string | null {
  if (typeof value !== "string") return null;
  const wellFormed = value.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\ufffd") : wellFormed;
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : sortedJson(value);
}

/**
 * JSON text with sorted keys, so that equal facts have one text. Not `canonicalJson`, which throws for NaN or a broken
 * surrogate: a usage figure that a worker got wrong must not keep a call from being settled. Here NaN becomes null.
 */
function sortedJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let members = "";
  for (const name of sortedNames(value)) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member === undefined) continue;
    members += `${members === "" ? "" : ","}${JSON.stringify(name)}:${sortedJson(member)}`;
  }
  return `{${members}}`;
}

/** What the runtime records has its names in order already: looking is cheaper than sorting. */
function sortedNames(value: object): string[] {
  const names = Object.keys(value);
  for (let at = 1; at < names.length; at += 1) {
    if ((names[at] ?? "") < (names[at - 1] ?? "")) return names.sort();
  }
  return names;
}

/**
 * The record's facts as stored, one per entry of {@link auditFields}, in that order. Every settled call makes such a list,
 * so it is written out by hand; a test holds it to the fields.
 */
export function auditValues(record: AuditDraft, lane: string, seq: number): AuditValue[] {
  return [
    text(record.tenant),
    text(lane),
    number(seq),
    number(record.ts),
    text(record.project),
    text(record.principal),
    text(record.onBehalfOf),
    text(record.action),
    text(record.tool),
    text(record.version),
    text(record.manifestDigest),
    text(record.executionId),
    text(record.callId),
    number(record.attempt),
    text(record.inputHash),
    text(record.outputHash),
    text(record.status),
    text(record.errorCode),
    text(record.sandbox),
    text(record.worker),
    json(record.egress),
    json(record.secretsUsed),
    json(record.policy),
    json(record.approval),
    text(record.cache),
    number(record.durationMs),
    json(record.resources),
    text(record.requestId),
    text(record.traceId),
    json(record.details),
  ];
}

/** The canonical text of a record: its stored facts, so that a changed column is a changed text. */
export function canonicalText(values: readonly AuditValue[]): string {
  return JSON.stringify(values);
}

export function linkHash(hmac: Hmac, prevHash: string, text: string): string {
  return hmac(`record\n${prevHash}\n${text}`);
}

/** The link of a record as it was listed or exported. */
export function linkOf(record: AuditRecord): AuditLink {
  const { lane, seq, prevHash, hash } = record;
  return { seq, prevHash, hash, text: canonicalText(auditValues(record, lane, seq)) };
}

/** Rebuilds a record from its stored facts. @throws SyntaxError when a JSON fact is no JSON */
export function auditRecord(values: readonly AuditValue[], prevHash: string, hash: string): AuditRecord {
  const record: Record<string, unknown> = {};
  auditFields.forEach(([field, kind], at) => {
    const value = values[at] ?? null;
    if (value !== null) record[field] = kind === "json" ? (JSON.parse(String(value)) as unknown) : value;
  });
  // Only `values` decides which facts exist; the columns that must be there are NOT NULL in every store.
  return { ...record, prevHash, hash } as unknown as AuditRecord;
}

export function headMac(hmac: Hmac, head: AuditHead): string {
  return hmac(`head\n${JSON.stringify([head.tenant, head.lane, head.seq, head.hash])}`);
}

function byLane(a: AuditHead, b: AuditHead): number {
  if (a.tenant !== b.tenant) return a.tenant < b.tenant ? -1 : 1;
  return a.lane < b.lane ? -1 : 1;
}

export function anchorMac(hmac: Hmac, heads: readonly AuditHead[]): string {
  const lines = [...heads].sort(byLane).map((head) => [head.tenant, head.lane, head.seq, head.hash]);
  return hmac(`anchor\n${JSON.stringify(lines)}`);
}

/** What else is known of a lane besides its records. */
export interface LaneWitnesses {
  readonly head: SignedHead | undefined;
  /** The lane's entry in a valid anchor. */
  readonly anchored: AuditHead | undefined;
}

export interface LaneCheck {
  /** Takes the lane's records one after another, by rising seq. */
  add(link: AuditLink): void;
  finish(): { readonly records: number; readonly problems: readonly AuditProblem[] };
}

/** Checks one lane without holding its records. Reports the first broken link, and what head and anchor have to say. */
export function checkLane(tenant: string, lane: string, witnesses: LaneWitnesses, hmac: Hmac): LaneCheck {
  const { head, anchored } = witnesses;
  const problems: AuditProblem[] = [];
  let records = 0;
  let seq = 0;
  let hash = firstPrevHash;
  let hashAtHead: string | undefined;
  let hashAtAnchor: string | undefined;
  const report = (kind: AuditProblem["kind"], at: number, message: string): void => {
    problems.push({ tenant, lane, seq: at, kind, message });
  };
  const checkLink = (link: AuditLink): void => {
    if (link.seq !== seq + 1)
      report("missing", seq + 1, `record ${seq + 1} is missing; the next one there is ${link.seq}`);
    else if (link.prevHash !== hash)
      report("edited", link.seq, `record ${link.seq} does not follow the record before it`);
    else if (linkHash(hmac, hash, link.text) !== link.hash)
      report(
        "edited",
        link.seq,
        `record ${link.seq} does not match its hash: it was changed, or written without the audit key`,
      );
  };
  const checkHead = (): void => {
    if (head === undefined) {
      if (records > 0) report("head_missing", seq, `the lane has ${records} records and no head`);
    } else if (headMac(hmac, { ...head, tenant, lane }) !== head.mac) {
      report("head_edited", head.seq, "the lane's head was not written with the audit key");
    } else if (head.seq > seq) {
      report("cut_tail", seq + 1, `the head names record ${head.seq}; the last one there is ${seq}`);
    } else if (head.seq < seq || hashAtHead !== head.hash) {
      report(
        "head_edited",
        head.seq,
        `the head names record ${head.seq} by another hash, or is older than record ${seq}`,
      );
    }
  };
  const checkAnchor = (): void => {
    if (anchored === undefined) return;
    if (anchored.seq > seq)
      report("anchor_ahead", seq + 1, `the anchor knows record ${anchored.seq}; the last one there is ${seq}`);
    else if (hashAtAnchor !== anchored.hash)
      report("anchor_ahead", anchored.seq, `the anchor knows record ${anchored.seq} by another hash`);
  };
  return {
    add(link) {
      if (problems.length === 0) checkLink(link);
      records += 1;
      seq = link.seq;
      hash = link.hash;
      if (seq === head?.seq) hashAtHead = hash;
      if (seq === anchored?.seq) hashAtAnchor = hash;
    },
    finish() {
      checkHead();
      checkAnchor();
      return { records, problems };
    },
  };
}

/** {@link checkLane} over records that are at hand, for instance an export. */
export function verifyLane(
  records: Iterable<AuditRecord>,
  place: { readonly tenant: string; readonly lane: string },
  witnesses: LaneWitnesses,
  hmac: Hmac,
): { readonly records: number; readonly problems: readonly AuditProblem[] } {
  const check = checkLane(place.tenant, place.lane, witnesses, hmac);
  // The place is part of the text, so a record of another lane that was slipped in does not match its hash.
  for (const record of records) check.add(linkOf({ ...record, ...place }));
  return check.finish();
}
