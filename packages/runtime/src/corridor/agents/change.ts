// Stores one change of an agent: its guard, the line in the agent's history and the audit record, in one unit.
import type { SessionGuard } from "../../ledger/sessions.ts";
import type { AgentChange } from "../../registry/agents/types.ts";
import type { Asked } from "../../tenancy/types.ts";
import { act } from "../admin.ts";
import { boundedComment, type AgentPorts } from "./ports.ts";

export interface Done {
  readonly action: AgentChange["action"];
  readonly agent: string;
  /** Empty where the whole agent is meant. */
  readonly version: string;
  readonly comment: string;
  /** Beside the agent, its version and the comment. */
  readonly details?: Readonly<Record<string, unknown>>;
}

const audited = {
  publish: "agent.published",
  deploy: "agent.deployed",
  roll_back: "agent.rolled_back",
  deprecate: "agent.deprecated",
  undeprecate: "agent.undeprecated",
  retire: "agent.retired",
  archive: "agent.archived",
  unarchive: "agent.unarchived",
} as const satisfies Record<AgentChange["action"], string>;

/** @returns false when the guard did not hold; nothing is written then */
export function change(ports: Pick<AgentPorts, "clock" | "ledger">, asked: Asked, guard: SessionGuard, done: Done): Promise<boolean> {
  const { tenant, name } = asked.principal;
  const { action, agent, version, details } = done;
  const comment = boundedComment(done.comment);
  const row: AgentChange = { tenant, agent, action, version, at: ports.clock.now(), by: name, comment };
  return act(ports, asked, audited[action], [guard, { op: "append_agent_change", row }], {
    agent,
    ...(version === "" ? {} : { agent_version: version }),
    ...(comment === "" ? {} : { comment }),
    ...details,
  });
}
