// Tells what a session and its children did: turn by turn, every answer, call and question with its time and what it used.
import type { ChildTimeline, HistoryItem, SessionApproval, SessionCall, SessionEvent, SessionTimeline } from "@signalbox/client";
import { textOf } from "./chat/told.ts";
import { paintStatus } from "./paint.ts";
import type { Paint } from "./paint.ts";
import { sessionHead } from "./session-words.ts";
import { cutToWidth, plain, plainLine } from "./text.ts";
import { durationText } from "./times.ts";

export interface StoryLook {
  readonly now: number;
  readonly paint: Paint;
  /** Undefined: as wide as needed. */
  readonly columns: number | undefined;
}

/** Of one answer, its arguments or a result; all of it is in `--json`. */
const shownCharsMax = 400;

export function sessionStory({ children, ...root }: SessionTimeline, look: StoryLook): string {
  const parts = [ownStory(root, look)];
  for (const child of children) {
    const indent = "  ".repeat(Math.max(1, child.session.depth - root.session.depth));
    const columns = look.columns === undefined ? undefined : look.columns - indent.length;
    parts.push(`${look.paint.bold("child")}\n${ownStory(child, { ...look, columns })}`.replace(/^(?=.)/gm, indent).replace(/^ {2}/, ""));
  }
  return parts.join("\n");
}

function ownStory(timeline: ChildTimeline, look: StoryLook): string {
  const { session, history, cut } = timeline;
  const turns = [...new Set(history.map(({ turn }) => turn))];
  const parts = [sessionHead(look.paint, session, look.now), ...turns.map((turn) => turnText(timeline, turn, look))];
  const limits = timeline.approvals.filter(({ execution_id: call }) => call === null);
  if (limits.length > 0) parts.push(`${look.paint.bold("limits")}\n${limits.map((one) => `  ${approvalLine(one, look)}\n`).join("")}`);
  if (cut) parts.push(look.paint.dim(`there is more than is shown:  signalbox sessions events ${plainLine(session.session_id)}\n`));
  return parts.join("\n");
}

function turnText(timeline: ChildTimeline, turn: number, look: StoryLook): string {
  const { events, history } = timeline;
  const started = events.find((event) => event.type === "turn.started" && event.turn === turn);
  const ended = events.find((event) => event.type === "turn.ended" && event.turn === turn);
  const took = started === undefined || ended === undefined ? "" : `  ${durationText(Date.parse(ended.ts) - Date.parse(started.ts))}`;
  const lines = history.filter((item) => item.turn === turn).flatMap((item) => itemLines(timeline, item, look));
  const end = ended === undefined ? [] : [`${clock(ended.ts)}  the turn ended: ${endText(ended)}`];
  const title = `${look.paint.bold(`turn ${turn}`)}${look.paint.dim(`${started === undefined ? "" : `  ${started.ts}`}${took}`)}\n`;
  return title + [...lines, ...end].map((line) => `  ${line}\n`).join("");
}

function endText({ data }: SessionEvent): string {
  const [code, message] = [textOf(data, "code"), textOf(data, "message")];
  return plainLine(code === "end_turn" || message === "" ? code : `${message} (${code})`);
}

function itemLines(timeline: ChildTimeline, item: HistoryItem, look: StoryLook): readonly string[] {
  const { user, assistant } = item;
  if (user !== undefined) return wordLines(`${eventTime(timeline, item, "message")}  ${look.paint.bold(plainLine(user.by))}  `, user.text);
  if (assistant === undefined) return [];
  const used = `${assistant.input_tokens} tokens in, ${assistant.output_tokens} out, ${assistant.stop}`;
  const head = `${eventTime(timeline, item, "assistant")}  ${look.paint.bold(`step ${item.step}`)}  ${look.paint.dim(used)}`;
  const told = timeline.history.find((other) => other.results !== undefined && other.turn === item.turn && other.step === item.step)?.results?.results ?? [];
  const calls = assistant.calls.flatMap((written, index) => callLines(timeline, { item, written, index, told: told.find((one) => one.index === index) }, look));
  return [head, ...wordLines("  ", assistant.text), ...calls];
}

type ToldResult = NonNullable<HistoryItem["results"]>["results"][number];

interface WrittenCall {
  readonly item: HistoryItem;
  readonly written: { readonly name: string; readonly arguments: string };
  readonly index: number;
  /** What the model was told of it; undefined while it goes on. */
  readonly told: ToldResult | undefined;
}

function callLines(timeline: ChildTimeline, { item, written, index, told }: WrittenCall, look: StoryLook): readonly string[] {
  const row = timeline.calls.find((call) => call.turn === item.turn && call.step === item.step && call.index === index);
  const status = row?.status ?? told?.status ?? "not made yet";
  const code = told?.error_code ?? row?.error_code ?? null;
  const which = row === undefined ? "" : `  ${row.tool}@${row.version}  ${row.execution_id}`;
  const painted = paintStatus(look.paint, status)(status);
  const asked = timeline.approvals.filter(({ execution_id: call }) => call !== null && call === row?.execution_id);
  return [
    `  ${look.paint.bold(plainLine(written.name))}  ${painted}${code === null ? "" : ` (${plainLine(code)})`}${look.paint.dim(plainLine(which))}${timesText(row, look)}`,
    ...(written.arguments === "" ? [] : [cutLine(`    ${written.arguments}`, look)]),
    ...(row?.status === "indeterminate" ? [`    nobody knows whether it happened: signalbox calls resolve ${plainLine(row.execution_id)} confirm | retry | fail`] : []),
    ...asked.map((one) => `    ${approvalLine(one, look)}`),
    ...(told === undefined ? [] : [cutLine(`    → ${toldText(told)}`, look)]),
    ...(typeof told?.edited_by === "string" ? [plainLine(`    ran with the arguments of ${told.edited_by}`)] : []),
  ];
}

/** The model need not have been told how the call ended: after a cancel the runtime speaks for it. */
function toldText({ told, text }: ToldResult): string {
  return told === "synthetic" ? `${text} (said by the runtime after a cancel)` : text;
}

function timesText(row: SessionCall | undefined, { paint }: StoryLook): string {
  if (row === undefined) return "";
  const parts = [
    ...(row.queued_ms === null ? [] : [`queued ${durationText(row.queued_ms)}`]),
    ...(row.start_ms === null ? [] : [`start ${durationText(row.start_ms)}`]),
    ...(row.duration_ms === null ? [] : [`code ${durationText(row.duration_ms)}`]),
  ];
  return parts.length === 0 ? "" : paint.dim(`  ${parts.join(", ")}`);
}

function approvalLine(one: SessionApproval, { paint }: StoryLook): string {
  const opened = Date.parse(one.opened_at);
  const end =
    one.closed_at === null
      ? `${one.status}, asked at ${clock(one.opened_at)}`
      : `${one.outcome ?? one.status} by ${one.closed_by ?? "nobody"} at ${clock(one.closed_at)} (after ${durationText(Date.parse(one.closed_at) - opened)})`;
  const because = one.reason === "" ? "" : `: ${one.reason}`;
  return paint.yellow(plainLine(`approval ${one.approval_id}  ${end}${because}`));
}

/** The time of day of what an item tells; blank where its event is not among those shown. */
function eventTime({ events }: ChildTimeline, item: HistoryItem, type: string): string {
  const found = events.find(
    (event) => event.type === type && event.turn === item.turn && (type === "message" ? event.data["text"] === item.user?.text : event.step === item.step),
  );
  return found === undefined ? " ".repeat(12) : clock(found.ts);
}

/** `12:00:01.250`; the day stands above it. */
function clock(iso: string): string {
  return /T(\d{2}:\d{2}:\d{2}\.\d{3})/.exec(iso)?.[1] ?? plainLine(iso);
}

function wordLines(before: string, text: string): readonly string[] {
  if (text === "") return [];
  const [first = "", ...rest] = plain(short(text)).split("\n");
  return [`${before}${first}`, ...rest.map((line) => `    ${line}`)];
}

function short(text: string): string {
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax).toWellFormed()}…`;
}

function cutLine(line: string, { columns }: StoryLook): string {
  const cut = plainLine(short(line));
  return columns === undefined ? cut : cutToWidth(cut, columns - 2);
}
