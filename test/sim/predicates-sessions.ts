// What must hold of every session once everything has come to rest: its history, its stream, its journal, its inbox and its calls tell one story.
import { isParked, isTerminal, type Call } from "../../packages/runtime/src/call/types.ts";
import { pairingFault } from "../../packages/runtime/src/session/provider-names.ts";
import { isEnded, type HistoryItem, type JournalRow, type Session, type SessionEvent, type ToldResult } from "../../packages/runtime/src/session/types.ts";
import { keyOf, type SimStore } from "../walk/sim-ledger.ts";
import { sessionKey } from "../walk/session-shelf.ts";
import type { SimReplica } from "./sim-replica.ts";
import type { SaidEntry } from "./talkers.ts";

export interface SessionTrace {
  readonly store: SimStore;
  readonly replicas: readonly (SimReplica | undefined)[];
  /** Entries that somebody was told are stored. */
  readonly said: readonly SaidEntry[];
  readonly endedAt: number;
}

interface Story {
  readonly row: Session;
  readonly history: readonly HistoryItem[];
  readonly events: readonly SessionEvent[];
  readonly effects: readonly JournalRow[];
  readonly calls: readonly Call[];
}

export function brokenSessions(trace: SessionTrace): string[] {
  const { store } = trace;
  const broken = [...store.sessions.rows.values()].flatMap((row) => {
    const story = storyOf(store, row);
    const rules = [rests(story, trace), paired(story), toldOnce(story, store), gapless(story), recorded(story), heard(story, store)];
    return rules.flat().map((rule) => `${row.sessionId}: ${rule}`);
  });
  broken.push(...nobodyDrives(trace), ...entriesAreThere(trace), ...limitsAreAnswered(trace));
  return broken;
}

function storyOf({ sessions, calls }: SimStore, row: Session): Story {
  const key = sessionKey(row);
  return {
    row,
    history: sessions.history.get(key) ?? [],
    events: sessions.events.get(key) ?? [],
    effects: [...sessions.effects.values()].filter(({ sessionId }) => sessionId === row.sessionId),
    calls: [...calls.values()].filter(({ sessionId }) => sessionId === row.sessionId),
  };
}

/** It has ended, or waits for somebody who knows of it. */
function rests({ row, calls }: Story, { store, endedAt }: SessionTrace): string[] {
  const { state, inboxSeq, inboxTaken, replica, leaseExpiresAt, approvalId } = row;
  // The lease of one that died while it found nothing to do runs out, and nobody need take it.
  const broken = replica === null || (leaseExpiresAt ?? 0) < endedAt ? [] : [`is ${state}, and ${replica} has its lease`];
  if (isEnded(state)) return broken;
  if (state === "awaiting_input") return inboxTaken === inboxSeq ? broken : [...broken, `waits for input, and ${inboxSeq - inboxTaken} entries wait for it`];
  const asked = approvalId !== null && store.shelf.approval(row.tenant, approvalId)?.approval.state === "pending";
  return state === "awaiting_approval" && (asked || calls.some(isParked)) ? broken : [...broken, `is stranded in ${state}`];
}

function paired({ row, history }: Story): string[] {
  const broken: string[] = [];
  // What waits for people has its last calls open.
  const open = history.at(-1)?.type === "assistant" && row.state === "awaiting_approval";
  const fault = pairingFault(open ? history.slice(0, -1) : history);
  if (fault !== undefined) broken.push(fault);
  if (history.length !== row.historyLength) broken.push(`${history.length} items, but the row says ${row.historyLength}`);
  return broken;
}

const resultsOf = (history: readonly HistoryItem[]): readonly ToldResult[] => history.flatMap((item) => (item.type === "results" ? item.results : []));

/** What a model was told is what the stream told, once; and no call ran of which it was not told. */
function toldOnce({ row, history, events, calls }: Story, store: SimStore): string[] {
  const broken: string[] = [];
  const results = resultsOf(history);
  const told = new Map(results.map((result) => [result.callId, result]));
  if (told.size !== results.length) broken.push("a call has two results");
  const [started, completed] = ["tool.started", "tool.completed"].map((type) => Map.groupBy(events.filter((event) => event.type === type).map(dataOf), (data) => data.execution_id));
  for (const [callId, all] of started ?? []) {
    if (all.length > 1) broken.push(`${callId} was told to start ${all.length} times`);
    if (told.has(callId) && (completed?.get(callId)?.length ?? 0) !== 1) broken.push(`${callId} was started, and told to end ${completed?.get(callId)?.length ?? 0} times`);
  }
  for (const [callId, all] of completed ?? []) {
    const result = told.get(callId);
    if (all.length > 1) broken.push(`${callId} was told to end ${all.length} times`);
    if (result !== undefined && all.some(({ text, status, told: how }) => text !== result.text || status !== result.status || how !== result.told)) broken.push(`${callId}: the model was told another end than the stream`);
  }
  for (const { callId, told: how, status } of results) {
    const call = store.calls.get(keyOf({ tenant: row.tenant, callId }));
    if (how === "row" && call?.state !== status) broken.push(`${callId}: told ${status}, the row says ${call?.state}`);
  }
  if (row.state !== "awaiting_approval") for (const { callId } of calls) if (!told.has(callId)) broken.push(`${callId}: a call of which the model was told nothing`);
  return broken;
}

interface ToldData {
  readonly execution_id: string;
  readonly text: string;
  readonly status: string;
  readonly told: string;
}

const dataOf = ({ dataJson }: SessionEvent): ToldData => JSON.parse(dataJson) as ToldData;

function gapless({ row, events }: Story): string[] {
  const broken = events.flatMap(({ seq }, at) => (seq === at + 1 ? [] : [`event ${seq} stands in place ${at + 1}`]));
  if (events.length !== row.eventSeq) broken.push(`${events.length} events, but the row says ${row.eventSeq}`);
  const ends = events.filter(({ type }) => type === "session.ended").length;
  if (ends !== (isEnded(row.state) ? 1 : 0)) broken.push(`is ${row.state}, and its end was told ${ends} times`);
  const [begun, over] = ["turn.started", "turn.ended"].map((word) => events.filter(({ type }) => type === word).map(({ turn }) => turn));
  if (begun?.some((turn, at) => turn !== at + 1) === true) broken.push(`its turns began as ${begun.join(" ")}`);
  if (row.state !== "awaiting_approval" && begun?.join() !== over?.join()) broken.push(`turns ${begun?.join(" ")} began, ${over?.join(" ")} ended`);
  return broken;
}

/** Every answer in the history is the recorded one of its effect: none was asked for, recorded and lost. */
function recorded({ history, effects }: Story): string[] {
  const answers = effects.filter(({ kind, state }) => kind === "CompleteModel" && state === "completed").map(({ outcomeJson }) => outcomeJson ?? "");
  const broken: string[] = [];
  for (const item of history) {
    if (item.type !== "assistant") continue;
    const words = item.parts.flatMap((part) => (part.type === "tool_call" ? [part.argumentsText, part.providerId] : [part.text]));
    if (!answers.some((answer) => words.every((word) => answer.includes(JSON.stringify(word).slice(1, -1))))) broken.push(`the answer of turn ${item.turn}, step ${item.step} is not in the journal`);
  }
  return broken;
}

/** Messages come in their order, each once; what was taken and is no cancel was heard. */
function heard({ row, history }: Story, { sessions }: SimStore): string[] {
  const wanted = (sessions.inbox.get(sessionKey(row)) ?? []).filter(({ seq, wish }) => wish.type === "message" && seq <= row.inboxTaken).map(({ seq }) => seq);
  const found = history.flatMap((item) => (item.type === "user" ? [item.inboxSeq] : []));
  return found.join() === wanted.join() ? [] : [`has heard the entries ${found.join(" ")}, and was told ${wanted.join(" ")}`];
}

function nobodyDrives({ replicas }: SessionTrace): string[] {
  return replicas.flatMap((replica) => (replica?.sessions === undefined || replica.sessions.driver.count === 0 ? [] : [`${replica.name}: drives ${replica.sessions.driver.count} sessions still`]));
}

function entriesAreThere({ said, store }: SessionTrace): string[] {
  return said.flatMap(({ sessionId, seq }) => {
    const all = [...store.sessions.inbox.values()].flat().filter((entry) => entry.sessionId === sessionId && entry.seq === seq);
    return all.length === 1 ? [] : [`${sessionId}: the entry ${seq} was said to be stored, and is there ${all.length} times`];
  });
}

function limitsAreAnswered({ store, endedAt }: SessionTrace): string[] {
  return [...store.shelf.approvals.values()].flatMap(({ approvalId, subject, state, openedAt, timeoutMs }) =>
    subject.kind === "limit" && state === "pending" && openedAt + timeoutMs < endedAt ? [`${approvalId}: about a limit, still pending after its time`] : [],
  );
}

/** Calls that a session waits for and nobody works on: an end that is unknown, which a person must say. */
export function unknownEnds(store: SimStore): readonly Call[] {
  return [...store.calls.values()].filter((call) => call.sessionId !== "" && !isTerminal(call.state) && call.state === "indeterminate");
}
