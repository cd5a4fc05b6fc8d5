// The session that a call begins: which version of the agent runs, how deep it is, for whom, until when, and what it is asked.
import { utf8Bytes } from "@signalbox/protocol";
import type { Call } from "../../call/types.ts";
import type { Write } from "../../ledger/port.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { Session } from "../../session/types.ts";
import { childOf } from "../agents/children.ts";
import { storable } from "../invoke.ts";
import { ChildFailed } from "./child-failed.ts";
import { sessionLimits, type SessionPorts } from "./ports.ts";
import { unbegun } from "./unbegun.ts";

/** One unit: refused as a whole where the session is there already. @throws ChildFailed */
export async function newChild(ports: SessionPorts, call: Call, sessionId: string, deadlineAt: number): Promise<readonly Write[]> {
  const { tenant, project, principal, callId, requestId } = call;
  const parent = call.sessionId === "" ? undefined : await storable(ports.ledger.session(tenant, call.sessionId));
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (depth > sessionLimits.depthMax)
    throw new ChildFailed("agent_depth", `an agent that is run by an agent may be ${sessionLimits.depthMax} deep, and this one would be ${depth}`, { depth_max: sessionLimits.depthMax });
  const text = messageOf(call.effectiveArgsJson ?? call.inputJson ?? "{}");
  const agent = await agentFor(ports, call, parent);
  const now = ports.clock.now();
  const session: Session = {
    tenant,
    sessionId,
    project,
    agent: agent.agent,
    agentVersion: agent.version,
    agentVersionId: agent.versionId,
    principal,
    keyId: parent?.keyId ?? "",
    parentSessionId: call.sessionId,
    parentCallId: callId,
    depth,
    contextJson: contextOf(call, parent),
    idempotencyKey: null,
    createdAt: now,
    deadlineAt: Math.min(deadlineAt, call.totalDeadlineAt ?? deadlineAt, parent?.deadlineAt ?? deadlineAt),
    ...unbegun("running", now),
  };
  const named = `${agent.agent}@${agent.version}`;
  const started = { agent: agent.agent, version: agent.version, principal, parent_execution_id: callId };
  return [
    { op: "insert_session", row: session },
    { op: "put_inbox", entry: { tenant, sessionId, at: now, by: principal, wish: { type: "message", text }, idempotencyKey: null } },
    { op: "append_session_event", event: { tenant, sessionId, seq: 1, at: now, type: "session.started", turn: 0, step: 0, dataJson: JSON.stringify(started) } },
    { op: "append_audit", draft: { ts: now, tenant, project, principal, action: "session.started", status: session.state, requestId, details: { session_id: sessionId, agent: named, parent_execution_id: callId } } },
  ];
}

/**
 * A `message`, or an `input`, that is text and stands alone is what the agent is told; any other input is told as it is, as JSON text.
 * Nothing of it is left out.
 */
export function messageOf(argsJson: string): string {
  const args = JSON.parse(argsJson) as unknown;
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [];
  const [only] = fields;
  const isText = fields.length === 1 && only !== undefined && (only[0] === "message" || only[0] === "input") && typeof only[1] === "string";
  const text = isText ? (only[1] as string) : argsJson;
  if (text.trim() === "") throw new ChildFailed("invalid_message", "the message is empty", {});
  if (utf8Bytes(text) > sessionLimits.messageBytesMax) throw new ChildFailed("invalid_message", `the message is larger than ${sessionLimits.messageBytesMax} bytes`, {});
  return text;
}

/** Inside a session what its agent was published with; outside of every session what is deployed now. */
async function agentFor(ports: SessionPorts, call: Call, parent: Session | undefined): Promise<AgentVersion> {
  const { ledger } = ports;
  const tool = await storable(ledger.toolVersion(call.toolTenant, call.tool, call.version));
  if (tool?.spec.executor.type !== "agent") throw unavailable(`${call.tool}@${call.version} runs no agent`);
  const named = tool.spec.executor.agent;
  if (parent === undefined) {
    const found = await childOf(ports, call.tenant, named);
    if ("problem" in found) throw unavailable(`${call.tool}@${call.version} ${found.problem}; ${found.hint}`);
    return found;
  }
  const name = named.split("@")[0] ?? named;
  const above = await storable(ports.agents.version(call.tenant, parent.agent, parent.agentVersion));
  const pinned = above?.children[name];
  if (pinned === undefined) throw unavailable(`${parent.agent}@${parent.agentVersion} was published without a version of ${name}; publish its next version`);
  const record = await storable(ledger.agent(call.tenant, name));
  if (record === undefined || record.archivedAt !== null) throw unavailable(`${name} is archived; signalbox agents unarchive ${name}`);
  const row = await storable(ledger.agentVersion(call.tenant, name, pinned));
  // A deprecated one goes on where it runs, and that is in its parent's version.
  if (row === undefined || row.status === "retired") throw unavailable(`${name}@${pinned} is retired; publish the next version of ${parent.agent}`);
  return row;
}

function unavailable(message: string): ChildFailed {
  return new ChildFailed("agent_unavailable", message, {});
}

/** What the root's caller gave beside the message holds for all that is done for it. */
function contextOf(call: Call, parent: Session | undefined): string {
  if (parent === undefined) return JSON.stringify({ context: JSON.parse(call.contextJson) as unknown });
  const { context = {} } = JSON.parse(parent.contextJson) as { readonly context?: unknown };
  return JSON.stringify({ context });
}
