// How many versions an agent may have, and how many agents one publication looks at.
import { afterEach, beforeEach, expect, test } from "vitest";
import { refusal } from "../../../../../test/support/corridor.ts";
import { agentDocument } from "../../../../../test/support/manifests.ts";
import { by, noon, PolicyOffice } from "../../../../../test/support/policy-office.ts";
import { readAgent } from "../../registry/agents/manifest.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import { deployAgent } from "./deploy.ts";
import type { AgentPorts } from "./ports.ts";
import { publishAgent } from "./publish.ts";

let office: PolicyOffice;
let ports: AgentPorts;
beforeEach(async () => {
  office = await PolicyOffice.open();
  ports = { ...office.ports, chance: { bytes: (count: number) => new Uint8Array(count), below: () => 0 } as AgentPorts["chance"] };
});
afterEach(() => office.close());

const owner = by({ scopes: new Set(["tools:write"]) });

async function store(rows: readonly (readonly [agent: string, version: string, children: Readonly<Record<string, string>>])[]): Promise<void> {
  const writes = rows.map(([agent, version, children]) => {
    const read = readAgent(agentDocument(agent, version));
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { metadata, spec } = read;
    const row: AgentVersion = { tenant: "acme", agent, version, versionId: `agv_${agent}_${version}`, metadata, spec, children, manifestDigest: "", status: "published", publishedAt: noon, publishedBy: "user:ann" };
    return { op: "insert_agent_version", row } as const;
  });
  expect(await office.ledger.commit({ writes })).toMatchObject({ applied: true });
}

const publish = (agent: string, version: string, spec: Readonly<Record<string, unknown>> = {}) => publishAgent(ports, owner, agentDocument(agent, version, spec), {});

test("no agent has more than 1 000 versions", async () => {
  await store(Array.from({ length: 999 }, (_, index) => ["support", `1.0.${index}`, {}] as const));
  await publish("support", "2.0.0");
  expect(await refusal(publish("support", "3.0.0"))).toMatchObject({
    code: "conflict",
    message: "support has 1000 versions, and no more are kept; publish it under a new name",
    details: { versions: 1_000, limit: 1_000 },
  });
  // What is there already needs no room.
  expect(await publish("support", "2.0.0")).toMatchObject({ alreadyThere: true });
});

test("no publication looks at more than 256 agents", async () => {
  const family = async (parent: string, count: number): Promise<void> => {
    const children = Array.from({ length: count }, (_, index) => `${parent}-${index}`);
    await store([...children.map((child) => [child, "1.0.0", {}] as const), [parent, "1.0.0", Object.fromEntries(children.map((child) => [child, "1.0.0"]))]]);
    await deployAgent(ports, owner, parent, "1.0.0", "");
    await office.tool(`ask-${parent}`, {}, { spec: { executor: { type: "agent", agent: parent } } });
  };
  await family("small", 255);
  await family("large", 256);
  expect((await publish("boss", "1.0.0", { tools: [{ tool: "ask-small@1.0.0" }] })).version.children).toEqual({ small: "1.0.0" });
  expect(await refusal(publish("boss", "2.0.0", { tools: [{ tool: "ask-large@1.0.0" }] }))).toMatchObject({
    code: "invalid_input",
    message: "the manifest has 1 problem(s); the first: spec.tools: runs more than 256 agents: boss",
  });
});
