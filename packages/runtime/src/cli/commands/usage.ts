// `signalbox usage`: what calls used, by project, tool and day.
import type { UsageGroup, UsageRow } from "@signalbox/client";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import type { Column } from "../table.ts";

interface UsageOptions extends PageFlags {
  readonly from?: string;
  readonly to?: string;
  readonly by?: string;
  readonly project?: string;
  readonly tool?: string;
  readonly tenant?: string;
}

const groups: readonly UsageGroup[] = ["tenant", "project", "tool", "day"];

export function addUsage(program: Command, runs: Runs): void {
  runs.operator<UsageOptions>(
    pageOptions(
      program
        .command("usage")
        .description("what calls used; each counts on the day on which it was admitted")
        .option("--from <day>", "from this day on, like 2026-01-31")
        .option("--to <day>", "up to this day, itself included")
        .option("--by <names>", "some of tenant, project, tool and day, with commas between them; none: one row (tool)")
        .option("--project <project>", "of this project")
        .option("--tool <tool>", "of this tool")
        .option("--tenant <tenant>", "of this tenant, or * for all; for the platform's operator, with --platform"),
    ),
    usage,
  );
}

async function usage(session: OnlineSession, _args: readonly string[], options: UsageOptions): Promise<Outcome> {
  const { from, to, by, project, tool, tenant } = options;
  const query = { ...pageFlags(options), ...givenOnly({ from, to, project, tool, tenant, group_by: groupsOf(by) }) };
  const page = await session.client.usage(query, session);
  session.print(page, () => session.table(page.items, [...page.group_by.map(nameColumn), ...sums]));
  if (page.group_by.includes("day") && page.time_zone !== null) session.remark(`days of ${page.time_zone}`);
  remarkMore(session, page);
}

function groupsOf(text: string | undefined): readonly UsageGroup[] | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return [];
  const words = text.split(",");
  const unknown = words.find((word) => !(groups as readonly string[]).includes(word));
  if (unknown !== undefined)
    throw new CliError(`--by knows ${groups.join(", ")} and none, not "${unknown}"`, { next: "write it like --by project,day" });
  return words as UsageGroup[];
}

const nameColumn = (name: UsageGroup): Column<UsageRow> => ({ title: name.toUpperCase(), cell: (row) => row[name] ?? "", shrinks: name !== "day" });

const counted = (title: string, cell: (row: UsageRow) => string): Column<UsageRow> => ({ title, cell, align: "right" });

/** `0` where nothing was: a column of zeros is easier to pass over than an empty one. */
const sums: readonly Column<UsageRow>[] = [
  counted("CALLS", ({ executions }) => String(executions)),
  counted("FAILED", (row) => String(row.failed + row.timed_out)),
  counted("CANCELLED", ({ cancelled }) => String(cancelled)),
  counted("DENIED", ({ denied }) => String(denied)),
  counted("CACHED", ({ cache_hits: hits }) => String(hits)),
  counted("TIME", ({ duration_ms: ms }) => seconds(ms)),
  counted("CPU", ({ cpu_ms: ms }) => seconds(ms)),
  counted("PEAK", ({ peak_memory_bytes: bytes }) => size(bytes)),
  counted("IN", ({ input_bytes: bytes }) => size(bytes)),
  counted("OUT", ({ output_bytes: bytes }) => size(bytes)),
];

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

function size(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
