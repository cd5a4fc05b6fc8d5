// Tells what happened to one call: who asked, what was decided, every step with its time, and what can be done now.
import type { Attempt, CallEvent, Decision, ExecutionDetail, LateResult } from "@signalbox/client";
import { roleText } from "./approval-words.ts";
import { prettyJson } from "./json.ts";
import { nextStep } from "./next-steps.ts";
import { paintStatus } from "./paint.ts";
import type { Paint } from "./paint.ts";
import { ruleColumns, showDenial } from "./rules.ts";
import { facts } from "./table.ts";
import type { Column } from "./table.ts";
import { plain, plainLine } from "./text.ts";
import { durationText, instantText } from "./times.ts";

export interface StoryParts {
  readonly call: ExecutionDetail;
  readonly events: readonly CallEvent[];
  readonly outputText: string | null;
  readonly now: number;
  readonly paint: Paint;
  readonly table: <Row>(rows: readonly Row[], columns: readonly Column<Row>[], indent: number) => string;
}

/** A result is told up to here; all of it is in `--json`. */
const shownCharsMax = 4_000;

export function callStory(parts: StoryParts): string {
  const { call, paint } = parts;
  const status = paintStatus(paint, call.status)(call.status);
  return [
    `${paint.bold(plainLine(call.execution_id))}  ${plainLine(`${call.tool}@${call.version}`)}  ${status}\n`,
    header(parts),
    decision(parts),
    section(paint, "edited", edited(parts)),
    section(paint, "timeline", timeline(parts)),
    section(paint, "attempts", attempts(parts)),
    section(paint, "late results", lateResults(parts)),
    ending(parts),
    section(paint, "next", next(parts)),
  ]
    .filter((text) => text !== "")
    .join("\n");
}

const indent = 2;

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, " ".repeat(indent));
}

function section(paint: Paint, title: string, body: string): string {
  return body === "" ? "" : `${paint.bold(title)}\n${indented(body)}`;
}

function header({ call, now, paint }: StoryParts): string {
  const { execution } = call;
  return facts(
    [
      ["principal", call.principal],
      ["project", call.project],
      ["class", call.side_effect_class],
      ["created", instantText(call.created_at, now)],
      ["settled", call.settled_at === null ? undefined : instantText(call.settled_at, now)],
      ["approval", call.approval_id ?? undefined],
      ["cancel asked", call.cancel_requested_at === null ? undefined : instantText(call.cancel_requested_at, now)],
      ["took", took(call)],
      ["worker", execution.worker ?? undefined],
      ["box", execution.sandbox === "application" ? undefined : (execution.sandbox ?? undefined)],
      ["attempt", String(execution.attempt)],
      ["routing", execution.routing_outcome],
      ["idempotency key", call.idempotency_key ?? undefined],
      ["input", `sha256 ${call.input_hash}`],
      ["request", call.request_id],
    ],
    paint.dim,
  );
}

function took({ execution }: ExecutionDetail): string | undefined {
  const parts = [
    execution.queued_ms === null ? [] : [`queued ${durationText(execution.queued_ms)}`],
    execution.start_ms === null ? [] : [`start ${durationText(execution.start_ms)}`],
    execution.duration_ms === null ? [] : [`code ${durationText(execution.duration_ms)}`],
  ].flat();
  return parts.length === 0 ? undefined : parts.join(", ");
}

function decision({ call, events, paint, table }: StoryParts): string {
  const made = decisionOf(call);
  if (made === undefined) {
    const outcome = events.find((event) => event.type === "requested")?.data["decision"];
    return typeof outcome === "string"
      ? `${paint.bold("decision")}  ${plainLine(`${outcome} (${call.execution.decision_id})`)}\n`
      : "";
  }
  const rules = made.rules.length === 0 ? "" : table(made.rules, ruleColumns, indent);
  const because = made.reason === "" ? "" : `: ${made.reason}`;
  return `${paint.bold("decision")}  ${plainLine(`${made.outcome}${because} (${made.id})`)}\n${indented(rules)}`;
}

function decisionOf({ decision: made, policy, execution }: ExecutionDetail): Decision | undefined {
  if (made !== undefined || policy === undefined) return made;
  return { id: execution.decision_id, outcome: policy.decision, reason: policy.reason, rules: policy.rules };
}

/** What was sent is only a hash by now; what counts in its place stands in the record. */
function edited({ call }: StoryParts): string {
  if (call.edited === undefined) return "";
  const { by, args } = call.edited;
  const to = args === undefined ? "\n" : ` to\n${cut(prettyJson(args))}`;
  return `${plainLine(by)} changed the arguments${to}`;
}

function timeline({ call, events, table }: StoryParts): string {
  if (events.length === 0) return "";
  const zero = Date.parse(events[0]?.ts ?? call.created_at);
  return table(
    events,
    [
      { title: "AFTER", cell: (event) => `+${durationText(Math.max(0, Date.parse(event.ts) - zero))}`, align: "right" },
      { title: "EVENT", cell: (event) => event.type },
      { title: "", cell: eventData, shrinks: true },
    ],
    indent,
  );
}

/** Said by the header already, or of no use to the eye. */
const untold: readonly string[] = ["tool", "version", "input_hash", "request_id"];

/** `worker wrk-1, attempt 1`. */
export function eventData(event: CallEvent): string {
  return Object.entries(event.data)
    .filter(([name, value]) => value !== null && value !== "" && !(event.type === "requested" && untold.includes(name)))
    .map(([name, value]) => `${name} ${eventValue(name, value)}`)
    .join(", ");
}

/** Long hashes, fractions of a millisecond and milliseconds since 1970 are for programs. */
function eventValue(name: string, value: unknown): string {
  if (typeof value === "string") return /^[0-9a-f]{40,}$/.test(value) ? `${value.slice(0, 12)}…` : value;
  if (name.endsWith("_at") && typeof value === "number") return new Date(value).toISOString();
  if (Array.isArray(value)) return listText(value);
  return name.endsWith("_ms") && typeof value === "number"
    ? String(Math.round(value * 10) / 10)
    : JSON.stringify(value);
}

/** Names, or how many people of which roles are asked. */
function listText(list: readonly unknown[]): string {
  const texts = list.flatMap((entry) => {
    if (typeof entry === "string") return [entry];
    const { route, quorum } = typeof entry === "object" && entry !== null ? (entry as Record<string, unknown>) : {};
    return typeof route === "string" && typeof quorum === "number" ? [`${quorum} of ${roleText(route)}`] : [];
  });
  return texts.length === list.length ? texts.join(" + ") : JSON.stringify(list);
}

function attempts({ call, table }: StoryParts): string {
  if (call.attempts.length === 0) return "";
  return table(
    call.attempts,
    [
      { title: "ATTEMPT", cell: (one) => String(one.attempt), align: "right" },
      { title: "FENCE", cell: (one) => String(one.fence), align: "right" },
      { title: "WORKER", cell: (one) => one.worker, shrinks: true },
      { title: "LEASED", cell: (one) => one.dispatched_at },
      { title: "LASTED", cell: lasted, align: "right" },
      {
        title: "ENDED",
        cell: endText,
      },
    ],
    indent,
  );
}

function endText({ end_reason, error }: Attempt): string {
  if (end_reason === null) return "still held";
  return error === null || error.code === end_reason ? end_reason : `${end_reason} (${error.code})`;
}

function lasted({ dispatched_at, ended_at }: Attempt): string {
  return ended_at === null ? "" : durationText(Math.max(0, Date.parse(ended_at) - Date.parse(dispatched_at)));
}

function lateResults({ call, now }: StoryParts): string {
  return call.late_results.map((late) => lateResult(late, now)).join("");
}

function lateResult(late: LateResult, now: number): string {
  const head = `${late.status} under fence ${late.fence} from ${late.worker}, ${instantText(late.at, now)}`;
  const what = late.status === "succeeded" ? late.output : late.error;
  return `${plainLine(head)}\n${what === null ? "" : cut(prettyJson(what))}`;
}

function cut(text: string): string {
  return text.length <= shownCharsMax
    ? text
    : `${text.slice(0, shownCharsMax)}…\n(${text.length - shownCharsMax} characters more: --json)\n`;
}

function ending({ call, outputText, paint }: StoryParts): string {
  if (call.error !== undefined) {
    const details = Object.keys(call.error.details ?? {}).length === 0 ? "" : cut(prettyJson(call.error.details));
    return section(paint, "error", `${plain(call.error.message)} (${plainLine(call.error.code)})\n${details}`);
  }
  return outputText === null ? "" : section(paint, "output", cut(prettyJson(call.output)));
}

function next({ call }: StoryParts): string {
  const id = plainLine(call.execution_id);
  switch (call.status) {
    case "indeterminate":
      return facts([
        [
          "it happened",
          `signalbox calls resolve ${id} confirm${call.late_results.some(({ status }) => status === "succeeded") ? "   (with the late result; or --output '<json>')" : " --output '<json>'"}`,
        ],
        ["it did not: run it", `signalbox calls resolve ${id} retry`],
        ["give it up", `signalbox calls resolve ${id} fail`],
      ]);
    case "queued":
    case "dispatched":
    case "running":
      return `signalbox calls cancel ${id}\n`;
    case "failed":
    case "timed_out":
    case "denied": {
      const policy = showDenial(call.policy?.rules ?? call.decision?.rules ?? []);
      const { code, details = {} } = call.error ?? {};
      const step = code === undefined ? policy : nextStep(code, { tool: call.tool, policy, details });
      // The reader is looking at the call already.
      return step === undefined || step.startsWith("signalbox calls") ? "" : `${plain(step)}\n`;
    }
    case "awaiting_approval":
      return call.approval_id === null ? "" : `signalbox approvals show ${plainLine(call.approval_id)}\n`;
    case "succeeded":
    case "cancelled":
      return "";
  }
}
