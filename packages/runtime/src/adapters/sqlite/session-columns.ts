// Which column keeps which field of agents, sessions and what belongs to them, and how their documents become rows and come back.
import { jsonDepthCeiling, parseJson } from "@signalbox/protocol";
import type { AgentChange, AgentMetadata, AgentRecord, AgentSpec, AgentVersion, ToolBinding } from "../../registry/agents/types.ts";
import type { HistoryItem, HostEvent, InboxEntry, JournalRow, Session, SessionEvent, Wish } from "../../session/types.ts";
import { columnsOf, decode, type SqlRow } from "./columns.ts";

export const agentColumns = columnsOf<AgentRecord>({
  tenant: "text",
  agent: "text",
  deployedVersion: "text",
  latestVersion: "text",
  description: "text",
  owner: "text",
  createdAt: "number",
  archivedAt: "number",
});

/** A version with its documents as text. */
interface AgentVersionRow extends Omit<AgentVersion, "metadata" | "spec" | "children"> {
  readonly metadataJson: string;
  readonly specJson: string;
  readonly childrenJson: string;
}

export const agentVersionColumns = columnsOf<AgentVersionRow>({
  tenant: "text",
  agent: "text",
  version: "text",
  versionId: "text",
  manifestDigest: "text",
  status: "text",
  publishedAt: "number",
  publishedBy: "text",
  metadataJson: "text",
  childrenJson: "text",
  specJson: "text",
});

export const agentChangeColumns = columnsOf<AgentChange>({
  tenant: "text",
  agent: "text",
  action: "text",
  version: "text",
  at: "number",
  by: "text",
  comment: "text",
});

export const sessionColumns = columnsOf<Session>({
  tenant: "text",
  sessionId: "text",
  project: "text",
  agent: "text",
  agentVersion: "text",
  agentVersionId: "text",
  principal: "text",
  keyId: "text",
  parentSessionId: "text",
  parentCallId: "text",
  depth: "number",
  idempotencyKey: "text",
  createdAt: "number",
  deadlineAt: "number",
  state: "text",
  turn: "number",
  historyLength: "number",
  inboxTaken: "number",
  inboxSeq: "number",
  eventSeq: "number",
  approvalId: "text",
  updatedAt: "number",
  endedAt: "number",
  fence: "number",
  replica: "text",
  leaseExpiresAt: "number",
  usage: "json",
  reason: "json",
  contextJson: "text",
  snapshotJson: "text",
});

/** What `update_session` stores. */
const progressFields: readonly string[] = [
  "state",
  "reason",
  "turn",
  "historyLength",
  "inboxTaken",
  "eventSeq",
  "snapshotJson",
  "approvalId",
  "usage",
  "updatedAt",
  "endedAt",
] satisfies readonly (keyof Session)[];
export const sessionProgressColumns = sessionColumns.filter(({ field }) => progressFields.includes(field));

export const listedSession = sessionColumns.map(({ name }) => (name === "snapshot_json" ? `NULL AS ${name}` : name)).join(", ");

interface InboxRow extends Omit<InboxEntry, "wish" | "by"> {
  readonly putBy: string;
  readonly wishJson: string;
}

export const inboxColumns = columnsOf<InboxRow>({
  tenant: "text",
  sessionId: "text",
  seq: "number",
  at: "number",
  putBy: "text",
  idempotencyKey: "text",
  wishJson: "text",
});

export const sessionEventColumns = columnsOf<SessionEvent>({
  tenant: "text",
  sessionId: "text",
  seq: "number",
  at: "number",
  type: "text",
  turn: "number",
  step: "number",
  dataJson: "text",
});

interface StoredEffect extends Omit<JournalRow, "key"> {
  readonly effectKey: string;
}

export const journalColumns = columnsOf<StoredEffect>({
  tenant: "text",
  sessionId: "text",
  effectKey: "text",
  kind: "text",
  hash: "text",
  state: "text",
  fence: "number",
  claimedAt: "number",
  claimExpiresAt: "number",
  completedAt: "number",
  envelopeJson: "text",
  outcomeJson: "text",
});

export const hostEventColumns = columnsOf<HostEvent>({
  tenant: "text",
  callId: "text",
  ordinal: "number",
  type: "text",
  at: "number",
  payloadJson: "text",
});

/** Text that was written here, with the digits that it was given. @throws Error when the store gave back something else */
function keptJson(text: string): unknown {
  const parsed = parseJson(text, { depthMax: jsonDepthCeiling, protoKeys: "keep" });
  if (!parsed.ok) throw new Error(`the ledger gave back JSON that it was not given: ${parsed.problem.message}`);
  return parsed.value;
}

export function rowOfAgentVersion({ metadata, spec, children, ...rest }: AgentVersion): AgentVersionRow {
  return { ...rest, metadataJson: JSON.stringify(metadata), specJson: JSON.stringify(spec), childrenJson: JSON.stringify(children) };
}

/** JSON has no undefined: what was not given comes back as undefined all the same. */
function specOf(text: string): AgentSpec {
  const spec = keptJson(text) as AgentSpec;
  const binding = (tool: ToolBinding): ToolBinding => ({
    ...tool,
    input: tool.input,
    scheduling: tool.scheduling,
    sideEffectClass: tool.sideEffectClass,
  });
  return { ...spec, model: { ...spec.model, temperature: spec.model.temperature }, tools: spec.tools.map(binding) };
}

export function agentVersionOf(row: SqlRow): AgentVersion {
  const { metadataJson, specJson, childrenJson, ...rest } = decode<AgentVersionRow>(agentVersionColumns, row);
  const metadata = JSON.parse(metadataJson) as AgentMetadata;
  return { ...rest, metadata, spec: specOf(specJson), children: JSON.parse(childrenJson) as Record<string, string> };
}

export function historyItemOf(row: SqlRow): HistoryItem {
  return keptJson(String(row["item_json"])) as HistoryItem;
}

export function rowOfInbox({ wish, by, ...rest }: InboxEntry): InboxRow {
  return { ...rest, putBy: by, wishJson: JSON.stringify(wish) };
}

export function inboxEntryOf(row: SqlRow): InboxEntry {
  const { wishJson, putBy, ...rest } = decode<InboxRow>(inboxColumns, row);
  return { ...rest, by: putBy, wish: JSON.parse(wishJson) as Wish };
}

export function rowOfEffect({ key, ...rest }: JournalRow): StoredEffect {
  return { ...rest, effectKey: key };
}

export function effectOf(row: SqlRow): JournalRow {
  const { effectKey, ...rest } = decode<StoredEffect>(journalColumns, row);
  return { ...rest, key: effectKey };
}

/** Effects are named `t2.e5`; by turn and number, and others behind them by their names. */
export function byEffectNumber(a: JournalRow, b: JournalRow): number {
  const [left, right] = [effectPlace(a.key), effectPlace(b.key)];
  if (left[0] !== right[0]) return left[0] - right[0];
  if (left[1] !== right[1]) return left[1] - right[1];
  return a.key < b.key ? -1 : 1;
}

function effectPlace(key: string): readonly [number, number] {
  const found = /^t(\d+)\.e(\d+)$/.exec(key);
  return found === null ? [Number.MAX_SAFE_INTEGER, 0] : [Number(found[1]), Number(found[2])];
}
