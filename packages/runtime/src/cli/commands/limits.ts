// `signalbox limits`: how much may be asked, and by whom; set, listed and removed.
import type { Limit, LimitScope, NewLimit, Quotas } from "@signalbox/client";
import { Argument, type Command } from "commander";
import { CliError } from "../failure.ts";
import { givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import { plainLine } from "../text.ts";

interface OfTenant {
  readonly tenant?: string;
}

interface SetOptions extends OfTenant {
  readonly perMinute?: string;
  readonly burst?: string;
  readonly executionsPerDay?: string;
  readonly cpuSecondsPerDay?: string;
  readonly egressBytesPerDay?: string;
  readonly concurrent?: string;
  readonly queueDepth?: string;
  readonly timeZone?: string;
}

const scopes: readonly LimitScope[] = ["platform", "tenant", "project", "principal", "agent", "tool"];

const target = (command: Command): Command =>
  command
    .addArgument(new Argument("<scope>", "how wide it reaches").choices(scopes))
    .argument("[subject]", "which project, principal, agent or tool; * is each of them by itself")
    .option("--tenant <tenant>", "whose; for the platform's operator, with --platform");

export function addLimits(program: Command, runs: Runs): void {
  const limits = program.command("limits").description("how many calls may be made, and how much they may use");
  runs.operator<PageFlags & OfTenant>(
    pageOptions(
      limits
        .command("list")
        .description("what holds for the tenant's calls: its own limits, the operator's for it, and the platform's")
        .option("--tenant <tenant>", "of this tenant; for the platform's operator, with --platform"),
    ),
    listLimits,
  );
  runs.operator<SetOptions>(
    target(limits.command("set").description("set a limit, in place of what was set before; it holds from the next call on"))
      .option("--per-minute <calls>", "calls a minute, in the long run; goes with --burst")
      .option("--burst <calls>", "calls at once")
      .option("--executions-per-day <calls>", "calls that are admitted on one day")
      .option("--cpu-seconds-per-day <seconds>", "CPU time of a day's calls")
      .option("--egress-bytes-per-day <bytes>", "bytes that a day's calls send out of boxes")
      .option("--concurrent <calls>", "calls that work at once; the others wait")
      .option("--queue-depth <calls>", "calls that wait for a worker")
      .option("--time-zone <zone>", "where the tenant's day begins, like Europe/Paris (UTC)"),
    setLimit,
  );
  runs.operator<OfTenant>(target(limits.command("remove").description("remove a limit")), removeLimit);
}

async function listLimits(session: OnlineSession, _args: readonly string[], { tenant, ...page }: PageFlags & OfTenant): Promise<Outcome> {
  const found = await session.client.limits.list({ ...pageFlags(page), ...givenOnly({ tenant }) }, session);
  session.print(found, () =>
    session.table(found.items, [
      { title: "SCOPE", cell: ({ scope }) => scope },
      { title: "SUBJECT", cell: (one) => subjectOf(one), shrinks: true },
      { title: "RATE", cell: ({ rate }) => (rate === null ? "" : `${rate.per_minute}/min, ${rate.burst} at once`) },
      { title: "QUOTAS", cell: quotasOf, shrinks: true },
      { title: "SET BY", cell: (one) => (one.set_by === "operator" ? "the operator" : one.changed_by) },
    ]),
  );
  if (found.items.length === 0) session.remark("there are no limits here\nnext:  signalbox limits set --help");
  remarkMore(session, found);
}

/** `each`: every one by itself. */
function subjectOf({ scope, subject, tenant }: Limit): string {
  if (subject === "*") return "each";
  return scope === "tenant" ? tenant : subject;
}

const short: { readonly [Name in keyof Quotas]-?: string } = {
  executions_per_day: "calls/day",
  cpu_seconds_per_day: "CPU s/day",
  egress_bytes_per_day: "egress bytes/day",
  concurrent_executions: "at work",
  queue_depth: "queued",
};

function quotasOf({ quotas, time_zone: zone }: Limit): string {
  const said = Object.entries(short).flatMap(([name, words]) => {
    const max = quotas[name as keyof Quotas];
    return max === undefined ? [] : [`${max} ${words}`];
  });
  return [...said, ...(zone === null ? [] : [`days of ${zone}`])].join(", ");
}

async function setLimit(session: OnlineSession, [scope = "", subject]: readonly string[], options: SetOptions): Promise<Outcome> {
  const { tenant, timeZone: time_zone } = options;
  const perMinute = count("--per-minute", options.perMinute);
  const burst = count("--burst", options.burst);
  if ((perMinute === undefined) !== (burst === undefined))
    throw new CliError("--per-minute and --burst go together", { next: "for 300 a minute, 50 at once: --per-minute 300 --burst 50" });
  const quotas: Quotas = givenOnly({
    executions_per_day: count("--executions-per-day", options.executionsPerDay),
    cpu_seconds_per_day: count("--cpu-seconds-per-day", options.cpuSecondsPerDay),
    egress_bytes_per_day: count("--egress-bytes-per-day", options.egressBytesPerDay),
    concurrent_executions: count("--concurrent", options.concurrent),
    queue_depth: count("--queue-depth", options.queueDepth),
  });
  const wanted: NewLimit = {
    scope: scope as LimitScope,
    ...givenOnly({ subject, tenant, time_zone }),
    ...(perMinute === undefined || burst === undefined ? {} : { rate: { per_minute: perMinute, burst } }),
    ...(Object.keys(quotas).length === 0 ? {} : { quotas }),
  };
  if (scope === "tool" && subject !== undefined) session.about.tool = subject;
  const made = await session.client.limits.set(wanted, session);
  session.print(made, () => `${plainLine(`${whose(made)}: ${saidBy(made)}`)}\n`);
}

function count(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new CliError(`${flag} takes a whole number of at least 1, not "${text}"`);
  return Number(text);
}

function whose(one: Limit): string {
  const subject = subjectOf(one);
  return one.scope === "platform" ? "the platform" : `${one.scope} ${subject}`;
}

function saidBy(one: Limit): string {
  const rate = one.rate === null ? [] : [`${one.rate.per_minute} calls a minute, ${one.rate.burst} at once`];
  const quotas = quotasOf(one);
  return [...rate, ...(quotas === "" ? [] : [quotas])].join("; ");
}

async function removeLimit(session: OnlineSession, [scope = "", subject]: readonly string[], { tenant }: OfTenant): Promise<Outcome> {
  const answer = await session.client.limits.remove({ scope: scope as LimitScope, ...givenOnly({ subject, tenant }) }, session);
  const what = [scope, subject === "*" ? "each" : subject].filter((word) => word !== undefined).join(" ");
  session.print(answer, () => `${plainLine(answer.removed ? `${what} is not limited here any more` : `${what}: there was no limit`)}\n`);
  if (!answer.removed) session.remark("see what there is: signalbox limits list");
}
