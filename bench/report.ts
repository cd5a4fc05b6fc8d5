// Prints figures: one JSON line each, or a table for people.
import type { Figure } from "./figures.ts";
import type { MeasuredMachine, Versions } from "./machine.ts";

/** The keys keep their order, so that people can read the lines too; what a figure does not have is left out. */
export function jsonLine(line: Figure, machine: MeasuredMachine, versions: Versions): string {
  const { figure, value, unit, target, ok, n, p50, p95, p99, max, errors, cpu_us, floor, ratio, floor_spread, reason } = line;
  const first = { figure, value, unit, target, ok, n, p50, p95, p99, max, errors, machine, versions };
  return JSON.stringify({ ...first, cpu_us, floor, ratio, floor_spread, reason });
}

/** Above this the absolute figures say more about the neighbours than about the subject. */
const noisyPercent = 10;

const headings = [
  "figure",
  "value",
  "p50 ms",
  "p95 ms",
  "p99 ms",
  "max ms",
  "cpu us",
  "target",
  "floor",
  "ratio",
  "floor ±",
  "verdict",
];

/** @param beside what the column of the floor holds */
export function table(figures: readonly Figure[], machine: MeasuredMachine, versions: Versions, beside = "floor"): string {
  const rows = [headings.map((heading) => heading.replace("floor", beside)), ...figures.map(cells)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  const reasons = figures.flatMap(({ figure, ok, reason }) =>
    reason === undefined ? [] : [`${ok === false ? "MISS" : "note"}  ${figure}: ${reason}`],
  );
  return [...head(machine, versions), "", ...lines, ...(reasons.length === 0 ? [] : ["", ...reasons])].join("\n");
}

function head(machine: MeasuredMachine, versions: Versions): readonly string[] {
  const { cpu, cores, memory_gib, kernel, data_fs, fsync_ms, others_cpu_percent: others } = machine;
  const quiet =
    others === null
      ? []
      : [
          `others    used ${others} % of the cores meanwhile${others > noisyPercent ? ": NOISY, measure again on a quiet machine" : ""}`,
        ];
  return [
    `machine   ${cpu}, ${cores} cores, ${memory_gib} GiB, Linux ${kernel}; data on ${data_fs}, one fdatasync ${fsync_ms} ms`,
    `versions  Signalbox ${versions.signalbox} (${versions.commit}), Node ${versions.node}, SQLite ${versions.sqlite}`,
    ...quiet,
  ];
}

function cells(figure: Figure): string[] {
  const { value, unit, p50, p95, p99, max, cpu_us, target, floor, ratio, floor_spread, ok } = figure;
  return [
    figure.figure,
    value === null ? "-" : `${short(value)} ${unit.split(" ")[0] ?? ""}`,
    ...[p50, p95, p99, max].map((latency) => (latency === null ? "" : short(latency))),
    cpu_us === undefined ? "" : short(cpu_us),
    target ?? "",
    floor?.["value"] === undefined ? "" : short(floor["value"]),
    ratio === undefined ? "" : ratio.toFixed(2),
    floor_spread === undefined ? "" : `${floor_spread.toFixed(0)} %`,
    ok === null ? "" : ok ? "ok" : "MISS",
  ];
}

function short(value: number): string {
  if (value >= 1_000) return value.toFixed(0);
  return value >= 100 ? value.toFixed(1) : value.toFixed(2);
}
