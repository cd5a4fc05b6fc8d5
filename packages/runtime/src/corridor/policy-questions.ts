// What would happen to a call that nobody makes, and why: the stages of an invoke up to the decision, without the call.
import { limits, SignalboxError, sideEffectClassDefault, utf8Bytes } from "@signalbox/protocol";
import { under, type Problem } from "../document/problems.ts";
import { parseDuration } from "../document/units.ts";
import { agentOf } from "../policy/agent.ts";
import { inputShape } from "../policy/condition/shape.ts";
import {
  beginDecision,
  countsNeeded,
  hearArgs,
  hearCounts,
  policyFailure,
  type Deliberation,
} from "../policy/decide.ts";
import { explain, explanationLines, type Explanation } from "../policy/explain.ts";
import { missingPermissions } from "../policy/permission.ts";
import type { Subject } from "../policy/types.ts";
import type { ToolVersion } from "../registry/types.ts";
import type { PolicyAnswer, PolicyQuestion } from "../service-governance.ts";
import type { Holdings } from "../tenancy/directory.ts";
import type { Asked } from "../tenancy/types.ts";
import { unresolvedError } from "./catalog-errors.ts";
import { storable } from "./invoke.ts";
import type { PolicyPorts } from "./policy-admin.ts";
import { refusedProblems } from "./policy-admin-publish.ts";
import { hasScope } from "./refusals.ts";
import { subjectOf } from "./subject.ts";

/** A decision that nobody takes has no id. */
const undecided = "";

/** Whom the question is about, where, and what is held there. */
interface Person extends Holdings {
  readonly name: string;
  readonly project: string;
  readonly environment: string;
}

export async function explainPolicy(ports: PolicyPorts, asked: Asked, question: PolicyQuestion): Promise<PolicyAnswer> {
  await ports.refusals.requireScope(asked.principal, "tools:read", asked.requestId);
  const windows = readWindows(question.counts?.windows ?? {});
  const now = question.now ?? ports.clock.now();
  const person = await personOf(ports, asked, question, now);
  // A limit of a session is no tool's.
  const tool =
    question.trigger?.startsWith("limit.") === true ? undefined : await toolOf(ports, asked, question, person.project);
  const checked = checkInput(ports, tool, question.input);
  const subject = describe(asked.principal.tenant, question, person, tool);
  const explanation = await deliberate(ports, { question, subject, tool, now, windows, checked });
  const missing =
    tool === undefined
      ? []
      : missingPermissions(person.permissions, [`tool:invoke:${tool.tool}`, ...tool.spec.permissions]);
  const lines = [...linesBefore(person, missing, checked, explanation), ...explanationLines(explanation)];
  return { explanation, lines, missingPermissions: missing, inputErrors: checked.errors };
}

/**
 * What is left out is the caller's own. Of somebody else it is known by name: the grants, and the roles of all keys.
 * @throws SignalboxError forbidden when the question is about more than the caller's own and it may not write policies
 */
async function personOf(
  ports: PolicyPorts,
  { principal, requestId }: Asked,
  question: PolicyQuestion,
  now: number,
): Promise<Person> {
  const { tenant } = principal;
  const name = question.principal ?? principal.name;
  const project = question.project ?? principal.project;
  const label = ports.policies.environmentOf(tenant, project);
  const own = await storable(ports.directory.holdingsOf(principal, project, now));
  const roles = question.roles ?? own.roles;
  const sameRoles = roles.length === own.roles.length && roles.every((role) => own.roles.includes(role));
  const environment = question.environment ?? label;
  if (name !== principal.name || project !== principal.project || environment !== label || !sameRoles)
    await ports.refusals.requireScope(principal, "policies:write", requestId);
  const held = name === principal.name ? own : await heldBy(ports, tenant, name, project, now);
  return { ...held, ...(question.roles === undefined ? {} : { roles: question.roles }), name, project, environment };
}

/** Of a principal without a living key the grants are told all the same: a key may come. */
async function heldBy(
  { directory }: PolicyPorts,
  tenant: string,
  name: string,
  project: string,
  now: number,
): Promise<Holdings> {
  const held = await storable(directory.holdingsByName(tenant, name, project, now));
  return held ?? storable(directory.holdingsOf({ tenant, name, roles: [] }, project, now));
}

/** @throws SignalboxError as an invoke does, with near names of those tools that the caller may learn of */
async function toolOf(
  ports: PolicyPorts,
  { principal }: Asked,
  { tool, version }: PolicyQuestion,
  project: string,
): Promise<ToolVersion> {
  const granted = await storable(ports.directory.permissionsOf(principal, project, ports.clock.now()));
  const seesAll = hasScope(principal, "tools:write");
  const maySee = (name: string): boolean =>
    seesAll || missingPermissions(granted, [`tool:invoke:${name}`]).length === 0;
  const found = await storable(ports.catalog.resolve(principal.tenant, tool, version ?? "", maySee, project));
  if (!found.ok) throw unresolvedError({ tool, version }, found);
  return found.version;
}

type Checked =
  | { readonly given: false; readonly errors: null }
  | { readonly given: true; readonly errors: readonly unknown[] }
  | { readonly given: true; readonly errors: null; readonly value: unknown };

function checkInput(ports: PolicyPorts, tool: ToolVersion | undefined, input: unknown): Checked {
  if (tool === undefined || input === undefined) return { given: false, errors: null };
  const bytes = utf8Bytes(JSON.stringify(input));
  if (bytes > limits.inputBytesMax)
    throw new SignalboxError("payload_too_large", `the input has ${bytes} bytes; the limit is ${limits.inputBytesMax}`);
  const verdict = ports.catalog.ready(tool).input.validateInput(input);
  return verdict.ok ? { given: true, errors: null, value: verdict.value } : { given: true, errors: verdict.errors };
}

function describe(tenant: string, question: PolicyQuestion, person: Person, tool: ToolVersion | undefined): Subject {
  const { name: principal, roles, project, environment } = person;
  const { trigger = null, context = {} } = question;
  const agent = question.agent ?? agentOf(principal, context);
  if (tool !== undefined)
    return { ...subjectOf({ tenant, project, environment, tool, principal, roles, context, trigger }), agent };
  return {
    tenant,
    project,
    environment,
    tool: { name: "", version: "", class: sideEffectClassDefault, labels: {} },
    agent,
    principal: { name: principal, roles },
    context,
    attached: [],
    trigger,
  };
}

interface Hearing {
  readonly question: PolicyQuestion;
  readonly subject: Subject;
  readonly tool: ToolVersion | undefined;
  readonly now: number;
  readonly windows: ReadonlyMap<number, number>;
  readonly checked: Checked;
}

async function deliberate(ports: PolicyPorts, hearing: Hearing): Promise<Explanation> {
  const { subject, tool, now, checked } = hearing;
  const monotonic = (): number => ports.clock.monotonic();
  const current = ports.policies.current();
  if (!current.ok) return { judgement: policyFailure(undecided, current.failure, 0), rules: [] };
  let deliberation = beginDecision(current.set, subject, now, monotonic);
  if (tool !== undefined && "value" in checked)
    deliberation = hearArgs(deliberation, checked.value, inputShape(tool.spec.input), monotonic);
  const counted = await windowsCounted(ports, hearing, deliberation);
  const { turn = 0, session = 0 } = hearing.question.counts ?? {};
  deliberation = hearCounts(deliberation, { turn, session, windows: counted }, monotonic);
  return explain(deliberation, undecided, ports.policies.defaultsFor(subject.tenant, subject.project));
}

/** The windows that rules ask for: as the question says, else as the ledger counts calls since their beginning. */
async function windowsCounted(
  ports: PolicyPorts,
  hearing: Hearing,
  deliberation: Deliberation,
): Promise<ReadonlyMap<number, number>> {
  const { subject, now } = hearing;
  const windows = new Map(hearing.windows);
  for (const length of countsNeeded(deliberation).windowsMs) {
    if (windows.has(length)) continue;
    // As in a call: one that is exactly as old as the window is long has left it.
    const within = { kind: "window", from: now - length + 1 } as const;
    const { tenant, tool, principal } = subject;
    windows.set(
      length,
      await storable(ports.ledger.countCalls({ tenant, tool: tool.name, principal: principal.name, within })),
    );
  }
  return windows;
}

/** `{10m: 3}`. @throws SignalboxError invalid_input */
function readWindows(given: Readonly<Record<string, number>>): ReadonlyMap<number, number> {
  const windows = new Map<number, number>();
  const problems: Problem[] = [];
  for (const [length, calls] of Object.entries(given)) {
    const path = under("counts.windows", length);
    const read = parseDuration(length);
    if (!read.ok) problems.push({ path, message: read.message, hint: read.hint });
    else if (!Number.isSafeInteger(calls) || calls < 0)
      problems.push({ path, message: "must be a whole number of calls" });
    else windows.set(read.value, calls);
  }
  if (problems.length > 0) throw refusedProblems("the question", problems);
  return windows;
}

/** What comes before the rules in a call, or kept some of them from being heard. */
function linesBefore(
  { name }: Person,
  missing: readonly string[],
  { given, errors }: Checked,
  { rules }: Explanation,
): readonly string[] {
  const lines: string[] = [];
  if (missing.length > 0)
    lines.push(`${name} has no grant for ${missing.join(", ")}: the call would be denied before any rule is heard.`);
  if (errors !== null)
    lines.push(
      "The input does not match the tool's schema: the call would be refused before rules that read it are heard.",
    );
  if (!given && rules.some(({ verdict }) => verdict === "waiting"))
    lines.push(
      "No input was given: a rule that reads it cannot be heard, and counts as a denial. Give the input to learn what it says.",
    );
  return lines;
}
