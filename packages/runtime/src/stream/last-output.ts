// The last lines that a call said before its end was lost, for the person who has to judge it.
import { limits, utf8Bytes } from "@signalbox/protocol";
import type { StreamEvent } from "./types.ts";

export interface OutputLine {
  readonly channel: "stdout" | "stderr" | "partial" | "log" | "progress";
  /** Without its end; a line that is too long without its beginning. */
  readonly text: string;
}

export interface LastOutput {
  /** Of the last attempt, oldest first; at most `lastOutputLinesMax`, at most `lastOutputBytesMax` in all. */
  readonly lines: readonly OutputLine[];
  /** More was said before. */
  readonly cut: boolean;
  /** `lost`: something among it or behind it is not kept. `elsewhere`: another replica may not have written the rest yet. */
  readonly missing: "lost" | "elsewhere" | null;
}

/**
 * @param events the newest that there are, by seq @param lastSeq the highest number that was given
 * @param leapSeqs what a process that takes a call up leaves out: people that are asked behind such a leap tell of no loss
 */
export function lastOutputOf(events: readonly StreamEvent[], lastSeq: number, leapSeqs: number): Omit<LastOutput, "missing"> & { readonly lost: boolean } {
  const began = events.findLastIndex(({ type }) => type === "start");
  const said = events.slice(Math.max(began, 0));
  const pieces: OutputLine[] = [];
  let lost = said.length > 0 && said.at(-1)?.seq !== lastSeq;
  for (const [at, event] of said.entries()) {
    const before = said[at - 1];
    const { piece, missed } = pieceOf(event);
    const hole = before === undefined ? 0 : event.seq - before.seq - 1;
    lost ||= missed || (hole > 0 && !(event.type === "approval" && hole >= leapSeqs - 1));
    if (piece !== undefined) put(pieces, piece);
  }
  const lines = pieces.flatMap(linesOf);
  const shown = newest(lines);
  const earlier = (events[0]?.seq ?? 1) > 1 || began > 0;
  return { lines: shown.lines, cut: shown.cut || earlier, lost: lost || (events.length === 0 && lastSeq > 0) };
}

function pieceOf({ type, dataJson }: StreamEvent): { readonly piece?: OutputLine; readonly missed: boolean } {
  if (type === "start" || type === "emit" || type === "approval") return { missed: false };
  const data = JSON.parse(dataJson) as { readonly text?: string; readonly missed_chunks?: number; readonly percent?: number | null; readonly message?: string };
  if (type !== "progress") return { piece: { channel: type, text: data.text ?? "" }, missed: data.missed_chunks !== undefined };
  const percent = typeof data.percent === "number" ? `${data.percent}%` : "";
  return { piece: { channel: type, text: [percent, data.message ?? ""].filter((word) => word !== "").join(" ") }, missed: false };
}

/** Chunks end where they please: what one channel says in a row is one text. A log entry and a progress stand alone. */
function put(pieces: OutputLine[], piece: OutputLine): void {
  const last = pieces.at(-1);
  const flows = piece.channel !== "log" && piece.channel !== "progress";
  if (flows && last?.channel === piece.channel) pieces[pieces.length - 1] = { ...last, text: last.text + piece.text };
  else pieces.push(piece);
}

function linesOf({ channel, text }: OutputLine): OutputLine[] {
  const ended = text.endsWith("\n") ? text.slice(0, -1) : text;
  return ended.split(/\r?\n/).map((line) => ({ channel, text: line }));
}

function newest(lines: readonly OutputLine[]): { readonly lines: readonly OutputLine[]; readonly cut: boolean } {
  const shown: OutputLine[] = [];
  let left: number = limits.lastOutputBytesMax;
  for (const { channel, text } of lines.toReversed()) {
    if (shown.length === limits.lastOutputLinesMax || left === 0) return { lines: shown.toReversed(), cut: true };
    const tail = endOf(text, left);
    shown.push({ channel, text: tail });
    if (tail.length < text.length) return { lines: shown.toReversed(), cut: true };
    left -= utf8Bytes(tail);
  }
  return { lines: shown.toReversed(), cut: false };
}

/** As many whole characters from the end as fit. */
function endOf(text: string, bytesMax: number): string {
  if (text.length <= bytesMax && utf8Bytes(text) <= bytesMax) return text;
  let from = text.length;
  for (let bytes = 0; from > 0; ) {
    const size = (text.codePointAt(from - 2) ?? 0) > 0xffff && from > 1 ? 2 : 1;
    bytes += utf8Bytes(text.slice(from - size, from));
    if (bytes > bytesMax) break;
    from -= size;
  }
  return text.slice(from);
}
