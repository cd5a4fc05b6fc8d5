// A chaos run's reports as text: a table for people, one line of JSON a story for programs.
import type { Report } from "./types.ts";

/** Nothing was lost, repeated or stranded, and nothing else is wrong. */
export function isGood({ lost, unsafeRepeats, stranded, problems }: Report): boolean {
  return lost === 0 && unsafeRepeats === 0 && stranded === 0 && problems.length === 0;
}

export function jsonLine({ story, calls, kills, lost, unsafeRepeats, stranded, indeterminate }: Report): string {
  return JSON.stringify({ story, calls, kills, lost, unsafe_repeats: unsafeRepeats, stranded, indeterminate: total(indeterminate) });
}

const heads = ["story", "calls", "kills", "lost", "unsafe repeats", "stranded", "indeterminate"];

export function table(reports: readonly Report[]): string {
  const rows = reports.map(({ story, calls, kills, lost, unsafeRepeats, stranded, indeterminate }) => [
    story,
    ...[calls, kills, lost, unsafeRepeats, stranded].map(String),
    reasons(indeterminate),
  ]);
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => (row[at] ?? "").length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, at) => (at === 0 || at === cells.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  ").trimEnd();
  return [line(heads), ...rows.map(line)].join("\n");
}

function reasons(indeterminate: Report["indeterminate"]): string {
  const count = total(indeterminate);
  if (count === 0) return "0";
  const each = Object.entries(indeterminate).map(([reason, of]) => `${reason} ${of}`);
  return `${count} (${each.toSorted().join(", ")})`;
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}
