// Asks a runtime for the values that an unfinished command line may go on with.
import type { AskOptions, Client, Execution, ExecutionStatus, SessionState } from "@signalbox/client";
import type { Candidate, KnownName, Sought } from "./completion-words.ts";

/** More than this nobody looks through; whoever has more types another letter. */
const namesMax = 200;
const page = { limit: 100 } as const;

type Names = (client: Client, sought: Sought, how: AskOptions) => AsyncIterable<Candidate>;

const sources: Readonly<Record<KnownName, Names>> = {
  async *tool(client, { start }, how) {
    const at = start.indexOf("@");
    if (at > 0) {
      const tool = start.slice(0, at);
      for await (const { value } of versions(client, tool, how)) yield { value: `${tool}@${value}`, description: "" };
    } else for await (const { tool, description } of client.tools.list(page, how)) yield { value: tool, description };
  },
  async *agent(client, { start }, how) {
    const at = start.indexOf("@");
    if (at > 0) {
      const agent = start.slice(0, at);
      for await (const { value, description } of agentVersions(client, agent, how)) yield { value: `${agent}@${value}`, description };
    } else for await (const { agent, description } of client.agents.list(page, how)) yield { value: agent, description };
  },
  from: (client, { before: [agent = ""] }, how) => agentVersions(client, agent, how),
  to: (client, { before: [agent = ""] }, how) => agentVersions(client, agent, how),
  version(client, { path: [command = ""], before: [first = ""] }, how) {
    if (command === "policies") return policyVersions(client, first, how);
    return ["agents", "chat", "sessions"].includes(command) ? agentVersions(client, first, how) : versions(client, first, how);
  },
  async *"execution-id"(client, { path }, how) {
    for await (const call of callsFor(path.at(-1) ?? "", client, how))
      yield { value: call.execution_id, description: `${call.tool} ${call.status}` };
  },
  async *"session-id"(client, { path }, how) {
    for await (const { session_id: value, agent, status } of client.sessions.list(page, how))
      if (isSought(path.at(-1) ?? "", status)) yield { value, description: `${agent} ${status}` };
  },
  async *"approval-id"(client, { path }, how) {
    const pending = path.at(-1) === "show" ? {} : { status: "pending" as const };
    for await (const { approval_id: value, tool, requester, status } of client.approvals.list(
      { ...page, ...pending },
      how,
    ))
      yield { value, description: `${tool} for ${requester}, ${status}` };
  },
  policy: policies,
  name: policies,
  async *project(client, _sought, how) {
    for await (const { project, environment } of client.projects.list(page, how))
      yield { value: project, description: environment };
  },
  async *"webhook-id"(client, _sought, how) {
    for await (const { webhook_id: value, url } of client.webhooks.list(page, how)) yield { value, description: url };
  },
  async *"key-id"(client, _sought, how) {
    for await (const { key_id: value, label } of client.keys.list(page, how)) yield { value, description: label };
  },
  async *"grant-id"(client, _sought, how) {
    for await (const { grant_id: value, subject, permissions } of client.grants.list(page, how))
      yield { value, description: `${subject}: ${permissions.join(" ")}` };
  },
  async *principal(client, _sought, how) {
    for await (const { principal: value } of client.keys.list(page, how)) yield { value, description: "" };
  },
};

/** What is talked to or stopped has not ended; anything can be looked at. */
function isSought(command: string, status: SessionState): boolean {
  return !["chat", "send", "cancel", "complete"].includes(command) || !["completed", "failed", "cancelled"].includes(status);
}

async function* versions(client: Client, tool: string, how: AskOptions): AsyncIterable<Candidate> {
  if (tool === "" || tool.includes("@")) return;
  for (const value of (await client.tools.get(tool, {}, how)).versions) yield { value, description: "" };
}

async function* agentVersions(client: Client, agent: string, how: AskOptions): AsyncIterable<Candidate> {
  if (agent === "" || agent.includes("@")) return;
  for (const { version, status } of (await client.agents.versions(agent, page, how)).items) yield { value: version, description: status };
}

async function* policies(client: Client, { start }: Sought, how: AskOptions): AsyncIterable<Candidate> {
  const at = start.indexOf("@");
  if (at > 0) {
    const name = start.slice(0, at);
    for await (const { value } of policyVersions(client, name, how))
      yield { value: `${name}@${value}`, description: "" };
  } else
    for await (const { name, reason } of client.policies.list(page, how)) yield { value: name, description: reason };
}

async function* policyVersions(client: Client, name: string, how: AskOptions): AsyncIterable<Candidate> {
  for await (const { version, status } of client.policies.list({ ...page, name }, how))
    yield { value: version, description: status };
}

/** What can be stopped or followed is open; what can be resolved is indeterminate; anything can be looked at. */
const statusesFor: Readonly<Record<string, readonly ExecutionStatus[]>> = {
  cancel: ["running", "dispatched", "queued", "awaiting_approval"],
  follow: ["running", "dispatched", "queued", "awaiting_approval", "indeterminate"],
  resolve: ["indeterminate"],
};

async function* callsFor(command: string, client: Client, how: AskOptions): AsyncIterable<Execution> {
  const statuses = statusesFor[command];
  if (statuses === undefined) yield* (await client.list(page, how)).items;
  else {
    const found = await Promise.all(statuses.map((status) => client.list({ ...page, status }, how)));
    yield* found.flatMap(({ items }) => items);
  }
}

/** Each once, in the order of the lists. @throws whatever the client throws */
export async function namesFor(client: Client, sought: Sought, how: AskOptions): Promise<readonly Candidate[]> {
  const { start, prefix } = sought;
  const found = new Map<string, Candidate>();
  for await (const { value, description } of sources[sought.name](client, sought, how)) {
    if (value.startsWith(start) && !found.has(value)) found.set(value, { value: `${prefix}${value}`, description });
    if (found.size >= namesMax) break;
  }
  return [...found.values()];
}
