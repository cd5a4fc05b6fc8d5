// Pins the agents that an agent's tools run: each at the version that is deployed when the agent is published.
import { parseRange, inRange, parseVersion } from "../../document/versions.ts";
import type { Problem } from "../../document/problems.ts";
import { agentBounds } from "../../registry/agents/bounds.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import { storable } from "../invoke.ts";
import type { BoundVersion } from "./bindings.ts";
import type { AgentPorts } from "./ports.ts";

export interface Pinned {
  readonly children: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

/** @param bound the tools that there are, with the places of their bindings */
export async function pinChildren(ports: Pick<AgentPorts, "ledger">, tenant: string, agent: string, bound: readonly BoundVersion[]): Promise<Pinned> {
  const children = new Map<string, AgentVersion>();
  const problems: Problem[] = [];
  for (const { path, tool } of bound) {
    const { executor } = tool.spec;
    if (executor.type !== "agent") continue;
    const found = await childOf(ports, tenant, executor.agent);
    const problem = "version" in found ? (children.get(found.agent)?.version ?? found.version) !== found.version && `runs ${found.agent}@${found.version}, and another tool runs ${found.agent} at another version` : found.problem;
    if (problem !== false) problems.push({ path: `${path}.tool`, message: `${tool.tool}@${tool.version} ${problem}`, ...("hint" in found ? { hint: found.hint } : {}) });
    else if ("version" in found) children.set(found.agent, found);
  }
  if (problems.length === 0) problems.push(...(await circles(ports, tenant, agent, [...children.values()])));
  return { children: Object.fromEntries([...children].map(([name, { version }]) => [name, version])), problems };
}

export type Child = AgentVersion | { readonly problem: string; readonly hint: string };

/** @param named the executor's word: a name, or a name with a version or a range */
export async function childOf({ ledger }: Pick<AgentPorts, "ledger">, tenant: string, named: string): Promise<Child> {
  const at = named.indexOf("@");
  const [name, wanted] = at === -1 ? [named, undefined] : [named.slice(0, at), named.slice(at + 1)];
  const record = await storable(ledger.agent(tenant, name));
  if (record === undefined) return { problem: `runs the agent ${name}, and there is none of that name`, hint: "publish and deploy it first: signalbox agents publish <file>" };
  if (record.archivedAt !== null) return { problem: `runs the agent ${name}, and it is archived`, hint: `signalbox agents unarchive ${name}` };
  const exact = wanted !== undefined && parseVersion(wanted) !== undefined;
  const version = exact ? wanted : record.deployedVersion;
  if (version === null) return { problem: `runs the agent ${name}, and no version of it is deployed`, hint: `signalbox agents deploy ${name} ${record.latestVersion}` };
  if (wanted !== undefined && !exact && !fits(version, wanted))
    return { problem: `runs ${name}@${wanted}, and ${version} is deployed`, hint: `deploy one that fits: signalbox agents deploy ${name} <version>` };
  const row = await storable(ledger.agentVersion(tenant, name, version));
  if (row === undefined) return { problem: `runs ${name}@${version}, and that version is not published`, hint: `signalbox agents versions ${name}` };
  return row.status === "published" ? row : { problem: `runs ${name}@${version}, and that version is ${row.status}`, hint: `deploy another one: signalbox agents deploy ${name} <version>` };
}

function fits(version: string, range: string): boolean {
  const [parsed, wanted] = [parseVersion(version), parseRange(range)];
  return parsed !== undefined && wanted !== undefined && inRange(wanted, parsed);
}

interface Open {
  readonly row: AgentVersion;
  /** The names above it, the published agent's first. */
  readonly above: readonly string[];
}

/** Looks down the tree of pinned versions, breadth first; what is pinned cannot change any more. */
async function circles({ ledger }: Pick<AgentPorts, "ledger">, tenant: string, agent: string, children: readonly AgentVersion[]): Promise<readonly Problem[]> {
  const open: Open[] = children.map((row) => ({ row, above: [agent] }));
  const told = (way: readonly string[], message: string): readonly Problem[] => [
    { path: "spec.tools", message: `${message}: ${way.join(" → ")}`, hint: "leave out the tool that runs the agent, or publish it without" },
  ];
  for (let looked = 0; open.length > 0; looked++) {
    const next = open.shift();
    if (next === undefined) break;
    const { row, above } = next;
    const way = [...above, row.agent];
    if (above.includes(row.agent)) return told(way, "agents would run one another in a circle");
    if (way.length > agentBounds.depthMax) return told(way, `agents would run one another more than ${agentBounds.depthMax} deep`);
    if (looked >= agentBounds.agentsLookedAtMax) return told([agent], `runs more than ${agentBounds.agentsLookedAtMax} agents`);
    for (const [name, version] of Object.entries(row.children)) {
      const child = await storable(ledger.agentVersion(tenant, name, version));
      if (child !== undefined) open.push({ row: child, above: way });
    }
  }
  return [];
}
