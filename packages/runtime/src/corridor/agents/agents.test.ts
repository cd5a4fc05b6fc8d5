// Agents in their owner's hands: published, deployed, rolled back, taken out of use, told apart; each act in history and audit.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../../../../../test/support/corridor.ts";
import { by, noon, owner as policyOwner, paper, PolicyOffice } from "../../../../../test/support/policy-office.ts";
import type { Asked } from "../../tenancy/types.ts";
import { publishPolicy } from "../policy-admin-publish.ts";
import { deployAgent, rollBackAgent } from "./deploy.ts";
import type { AgentPorts } from "./ports.ts";
import { publishAgent } from "./publish.ts";
import { agentHistory, agentToRun, agentVersions, diffAgent, getAgent, listAgents } from "./read.ts";
import { archiveAgent, deprecateAgent, retireAgent } from "./status.ts";

let office: PolicyOffice;
let ports: AgentPorts;
let chance = 0;
beforeEach(async () => {
  office = await PolicyOffice.open();
  ports = { ...office.ports, chance: { bytes: (count: number) => new Uint8Array(count).fill(++chance), below: () => 0 } as AgentPorts["chance"] };
});
afterEach(() => office.close());

const owner = by({ name: "user:own", scopes: new Set(["tools:write", "tools:read"]) });
const stranger = by({ tenant: "beta", scopes: new Set(["*"]) });

function paperOf(name: string, version: string, spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Agent",
    metadata: { name, version, owner: "team-help", description: "Helps." },
    spec: { model: { provider: "scripted", name: "turns" }, instructions: "Be kind.", ...spec },
  };
}

async function publish(name: string, version = "1.0.0", spec: Readonly<Record<string, unknown>> = {}, asked: Asked = owner) {
  const published = await publishAgent(ports, asked, paperOf(name, version, spec), {});
  await office.clock.pass(1_000);
  return published;
}

async function deployed(name: string, version = "1.0.0", spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await publish(name, version, spec);
  await deployAgent(ports, owner, name, version, "");
}

/** A tool that runs an agent. */
const runs = (tool: string, agent: string): Promise<void> => office.tool(tool, {}, { spec: { executor: { type: "agent", agent } } });

/** What a publication is refused for. */
async function problems(name: string, spec: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { code, details = {} } = await refusal(publishAgent(ports, owner, paperOf(name, "9.0.0", spec), {}));
  expect(code).toBe("invalid_input");
  return (details["problems"] as { path: string; message: string }[]).map(({ path, message }) => `${path}: ${message}`);
}

const bound = (...tools: string[]) => ({ tools: tools.map((tool) => ({ tool })) });

describe("publishing", () => {
  test("stores a version once and for ever, in history and audit, and deploys nothing", async () => {
    const first = await publishAgent(ports, owner, paperOf("support", "1.0.0"), { comment: "the first" });
    expect(first).toMatchObject({ alreadyThere: false, deployed: false, warnings: [], version: { agent: "support", version: "1.0.0", status: "published", children: {}, publishedAt: noon, publishedBy: "user:own" } });
    expect(first.version.versionId).toMatch(/^agv_[0-9A-Z]{26}$/);
    expect(await ports.ledger.agent("acme", "support")).toEqual({
      tenant: "acme",
      agent: "support",
      deployedVersion: null,
      latestVersion: "1.0.0",
      description: "Helps.",
      owner: "team-help",
      createdAt: noon,
      archivedAt: null,
    });
    expect(await agentHistory(ports, owner, "support")).toEqual([
      { tenant: "acme", agent: "support", action: "publish", version: "1.0.0", at: noon, by: "user:own", comment: "the first" },
    ]);
    const [record] = await office.audit("acme");
    expect(record).toMatchObject({
      action: "agent.published",
      principal: "user:own",
      details: { agent: "support", agent_version: "1.0.0", comment: "the first", version_id: first.version.versionId, children: {} },
    });
  });

  test("the same manifest again is nothing new; another one under its version is refused", async () => {
    const first = await publish("support");
    const again = await publish("support");
    expect(again).toMatchObject({ alreadyThere: true, version: { versionId: first.version.versionId } });
    expect(await refusal(publish("support", "1.0.0", { instructions: "Be rude." }))).toMatchObject({
      code: "conflict",
      message: "support@1.0.0 is published already with other content; versions never change, publish a new one",
    });
    expect(await agentHistory(ports, owner, "support")).toHaveLength(1);
  });

  test("a dry run stores nothing", async () => {
    expect(await publishAgent(ports, owner, paperOf("support", "1.0.0"), { dryRun: true })).toMatchObject({ alreadyThere: false });
    expect(await refusal(getAgent(ports, owner, "support"))).toMatchObject({ code: "agent_not_found" });
  });

  test("F3: a version of a tool that nobody registered is a warning", async () => {
    await office.tool("pay");
    const { warnings } = await publish("support", "1.0.0", bound("pay@9.9.9", "nothing@1.0.0"));
    expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "spec.tools[0].tool: pay@9.9.9 is not registered here: the model is told tool_not_found until it is",
      "spec.tools[1].tool: nothing@1.0.0 is not registered here: the model is told tool_not_found until it is",
    ]);
  });

  test("a binding that loosens its tool is refused; the platform's tools count too", async () => {
    await office.tool("pay", {}, { spec: { side_effect_class: "non_idempotent_write", scheduling: "exclusive" } });
    await office.tool("look", {}, { tenant: "platform", spec: { side_effect_class: "idempotent_write" } });
    const tools = [
      { tool: "pay@1.0.0", side_effect_class: "read_only", scheduling: "parallel" },
      { tool: "look@1.0.0", side_effect_class: "read_only" },
    ];
    expect(await problems("support", { tools })).toEqual([
      "spec.tools[0].side_effect_class: read_only is looser than non_idempotent_write, which pay@1.0.0 says",
      "spec.tools[0].scheduling: parallel is looser than exclusive, which pay@1.0.0 says",
      "spec.tools[1].side_effect_class: read_only is looser than idempotent_write, which look@1.0.0 says",
    ]);
  });

  test("A3: policies that are not in force are refused by their places", async () => {
    await office.tool("pay");
    await publishPolicy(office.ports, policyOwner, paper({ name: "house" }), {});
    const spec = { default_policies: ["house@1.0.0", "gone@1.0.0"], tools: [{ tool: "pay@1.0.0", policies: ["house", "house@2.0.0"] }] };
    expect(await problems("support", spec)).toEqual([
      "spec.default_policies[1]: names the policy gone@1.0.0, and none of that name is in force in this tenant",
      "spec.tools[0].policies[1]: names the policy house@2.0.0, and none of that name is in force in this tenant",
    ]);
    await publish("support", "1.0.0", { default_policies: ["house@1.0.0"], ...bound("pay@1.0.0") });
  });

  test("permissions that are none are refused; tools beyond the ceiling are told", async () => {
    await office.tool("pay", {}, { spec: { permissions: ["net:egress:bank.example.com"] } });
    expect(await problems("support", { permissions: ["net:fly:a"] })).toEqual([expect.stringMatching(/^spec\.permissions\[0\]: net has no action/)]);
    const { warnings } = await publish("support", "1.0.0", { permissions: ["tool:invoke:pay"], ...bound("pay@1.0.0") });
    expect(warnings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "spec.tools[0].tool: needs net:egress:bank.example.com, which is beyond spec.permissions: every call of it is denied",
    ]);
  });

  test("wants the scope tools:write", async () => {
    expect(await refusal(publish("support", "1.0.0", {}, by({ scopes: new Set(["tools:read", "sessions:run"]) })))).toMatchObject({
      code: "forbidden",
      details: { missing_scope: "tools:write" },
    });
  });
});

describe("child agents", () => {
  test("are pinned to what is deployed when their parent is published", async () => {
    await deployed("clerk", "1.0.0");
    await runs("ask-clerk", "clerk");
    expect((await publish("boss", "1.0.0", bound("ask-clerk@1.0.0"))).version.children).toEqual({ clerk: "1.0.0" });
    await deployed("clerk", "2.0.0");
    expect((await publish("boss", "1.1.0", bound("ask-clerk@1.0.0"))).version.children).toEqual({ clerk: "2.0.0" });
    expect((await getAgent(ports, owner, "boss", "1.0.0")).version.children).toEqual({ clerk: "1.0.0" });
  });

  test("that are not there, not deployed, archived or out of use are refused", async () => {
    await runs("ask-nobody", "nobody");
    await runs("ask-clerk", "clerk");
    await runs("ask-old", "clerk@^2");
    await publish("clerk");
    expect(await problems("boss", bound("ask-nobody@1.0.0", "ask-clerk@1.0.0"))).toEqual([
      "spec.tools[0].tool: ask-nobody@1.0.0 runs the agent nobody, and there is none of that name",
      "spec.tools[1].tool: ask-clerk@1.0.0 runs the agent clerk, and no version of it is deployed",
    ]);
    await deployAgent(ports, owner, "clerk", "1.0.0", "");
    expect(await problems("boss", bound("ask-old@1.0.0"))).toEqual(["spec.tools[0].tool: ask-old@1.0.0 runs clerk@^2, and 1.0.0 is deployed"]);
    await deprecateAgent(ports, owner, "clerk", "1.0.0", true, "");
    expect(await problems("boss", bound("ask-clerk@1.0.0"))).toEqual(["spec.tools[0].tool: ask-clerk@1.0.0 runs clerk@1.0.0, and that version is deprecated"]);
    await archiveAgent(ports, owner, "clerk", true, "");
    expect(await problems("boss", bound("ask-clerk@1.0.0"))).toEqual(["spec.tools[0].tool: ask-clerk@1.0.0 runs the agent clerk, and it is archived"]);
  });

  test("at two versions of one agent are refused", async () => {
    await publish("clerk", "1.0.0");
    await publish("clerk", "2.0.0");
    await runs("ask-one", "clerk@1.0.0");
    await runs("ask-two", "clerk@2.0.0");
    expect(await problems("boss", bound("ask-one@1.0.0", "ask-two@1.0.0"))).toEqual([
      "spec.tools[1].tool: ask-two@1.0.0 runs clerk@2.0.0, and another tool runs clerk at another version",
    ]);
  });

  test("that run their parent in the end, or one another too deep, are refused", async () => {
    await deployed("a0");
    for (let depth = 1; depth < 8; depth++) {
      await runs(`ask-a${depth - 1}`, `a${depth - 1}`);
      await deployed(`a${depth}`, "1.0.0", bound(`ask-a${depth - 1}@1.0.0`));
    }
    await runs("ask-a7", "a7");
    expect(await problems("a0", bound("ask-a1@1.0.0"))).toEqual(["spec.tools: agents would run one another in a circle: a0 → a1 → a0"]);
    await runs("ask-self", "a0");
    expect(await problems("a0", bound("ask-self@1.0.0"))).toEqual(["spec.tools: agents would run one another in a circle: a0 → a0"]);
    expect(await problems("a8", bound("ask-a7@1.0.0"))).toEqual([
      "spec.tools: agents would run one another more than 8 deep: a8 → a7 → a6 → a5 → a4 → a3 → a2 → a1 → a0",
    ]);
  });
});

describe("which version runs", () => {
  beforeEach(async () => {
    for (const version of ["1.0.1", "1.0.2", "1.0.3"]) await publish("support", version);
  });

  test("deployed, told, rolled back to the one before and to one that is named", async () => {
    expect(await refusal(agentToRun(ports, "acme", "support"))).toMatchObject({
      code: "conflict",
      message: "no version of support is deployed; deploy one: signalbox agents deploy support 1.0.3",
    });
    await deployAgent(ports, owner, "support", "1.0.2", "");
    await deployAgent(ports, owner, "support", "1.0.3", "better");
    expect((await agentToRun(ports, "acme", "support")).version).toBe("1.0.3");
    expect((await agentToRun(ports, "acme", "support", "1.0.1")).version).toBe("1.0.1");
    expect(await rollBackAgent(ports, owner, "support", undefined, "worse")).toMatchObject({ from: "1.0.3", record: { deployedVersion: "1.0.2" } });
    expect((await agentToRun(ports, "acme", "support")).version).toBe("1.0.2");
    // Back from where one was rolled back to is forth again.
    expect(await rollBackAgent(ports, owner, "support", undefined, "")).toMatchObject({ from: "1.0.2", record: { deployedVersion: "1.0.3" } });
    expect(await rollBackAgent(ports, owner, "support", "1.0.1", "")).toMatchObject({ record: { deployedVersion: "1.0.1" } });
    expect((await agentHistory(ports, owner, "support")).slice(0, 5).map(({ action, version, comment }) => [action, version, comment])).toEqual([
      ["roll_back", "1.0.1", ""],
      ["roll_back", "1.0.3", ""],
      ["roll_back", "1.0.2", "worse"],
      ["deploy", "1.0.3", "better"],
      ["deploy", "1.0.2", ""],
    ]);
    expect((await office.audit("acme")).slice(0, 1)).toMatchObject([{ action: "agent.rolled_back", details: { agent: "support", agent_version: "1.0.1", from: "1.0.3" } }]);
  });

  test("deploying what is deployed changes nothing", async () => {
    await deployAgent(ports, owner, "support", "1.0.2", "");
    await deployAgent(ports, owner, "support", "1.0.2", "again");
    expect((await agentHistory(ports, owner, "support")).filter(({ action }) => action === "deploy")).toHaveLength(1);
  });

  test("there is no way back from the first, and none from nothing", async () => {
    expect(await refusal(rollBackAgent(ports, owner, "support", undefined, ""))).toMatchObject({ code: "conflict" });
    await deployAgent(ports, owner, "support", "1.0.2", "");
    expect(await refusal(rollBackAgent(ports, owner, "support", undefined, ""))).toMatchObject({
      code: "conflict",
      message: "support cannot be rolled back: no other version of it was deployed before; name the version: signalbox agents rollback support --to <version>",
    });
  });

  test("a roll-back steps over what may start no sessions", async () => {
    for (const version of ["1.0.1", "1.0.2", "1.0.3"]) await deployAgent(ports, owner, "support", version, "");
    await retireAgent(ports, owner, "support", "1.0.2", "");
    expect((await rollBackAgent(ports, owner, "support", undefined, "")).record.deployedVersion).toBe("1.0.1");
    expect(await refusal(rollBackAgent(ports, owner, "support", "1.0.2", ""))).toMatchObject({ code: "conflict", details: { status: "retired" } });
  });

  test("deprecated versions start nothing, named or deployed, until the mark is taken away; retired ones never again", async () => {
    await deployAgent(ports, owner, "support", "1.0.3", "");
    expect(await deprecateAgent(ports, owner, "support", "1.0.3", true, "slow")).toMatchObject({ deployed: true, version: { status: "deprecated" } });
    expect(await refusal(agentToRun(ports, "acme", "support"))).toMatchObject({
      code: "conflict",
      message: "support@1.0.3 is deprecated, and no session starts with it; deploy another version: signalbox agents deploy support <version>",
    });
    expect(await refusal(agentToRun(ports, "acme", "support", "1.0.3"))).toMatchObject({ code: "conflict", details: { status: "deprecated" } });
    expect(await refusal(deployAgent(ports, owner, "support", "1.0.3", ""))).toMatchObject({ code: "conflict" });
    await deprecateAgent(ports, owner, "support", "1.0.3", false, "");
    expect((await agentToRun(ports, "acme", "support")).version).toBe("1.0.3");
    expect(await retireAgent(ports, owner, "support", "1.0.3", "")).toMatchObject({ version: { status: "retired" } });
    expect(await refusal(deprecateAgent(ports, owner, "support", "1.0.3", false, ""))).toMatchObject({
      code: "conflict",
      message: "support@1.0.3 is retired, and that is for good; publish a new version",
    });
    expect(await refusal(agentToRun(ports, "acme", "support"))).toMatchObject({ code: "conflict", details: { status: "retired" } });
    expect((await agentHistory(ports, owner, "support")).slice(0, 3).map(({ action }) => action)).toEqual(["retire", "undeprecate", "deprecate"]);
  });

  test("I1: an archived agent starts nothing and stays in the list; again is no error", async () => {
    await deployAgent(ports, owner, "support", "1.0.3", "");
    const archived = await archiveAgent(ports, owner, "support", true, "done");
    await office.clock.pass(5_000);
    expect(await archiveAgent(ports, owner, "support", true, "")).toEqual(archived);
    expect((await listAgents(ports, owner, 10)).items).toMatchObject([{ agent: "support", archivedAt: archived.archivedAt }]);
    expect(await refusal(agentToRun(ports, "acme", "support"))).toMatchObject({
      code: "conflict",
      message: "support is archived; bring it back first: signalbox agents unarchive support",
    });
    expect(await refusal(deployAgent(ports, owner, "support", "1.0.2", ""))).toMatchObject({ code: "conflict" });
    await archiveAgent(ports, owner, "support", false, "");
    expect((await agentToRun(ports, "acme", "support")).version).toBe("1.0.3");
    expect((await agentHistory(ports, owner, "support")).map(({ action, version }) => `${action} ${version}`.trim()).slice(0, 2)).toEqual(["unarchive", "archive"]);
  });

  test("versions and agents that are not there are named with what is near", async () => {
    expect(await refusal(agentToRun(ports, "acme", "nobody"))).toMatchObject({ code: "agent_not_found" });
    expect(await refusal(deployAgent(ports, owner, "support", "9.9.9", ""))).toMatchObject({
      code: "agent_not_found",
      message: "there is no version 9.9.9 of support; the newest are 1.0.3, 1.0.2, 1.0.1",
      details: { agent: "support", version: "9.9.9", versions: ["1.0.3", "1.0.2", "1.0.1"] },
    });
  });

  test("another tenant meets none of it, and neither does who may not read", async () => {
    await deployAgent(ports, owner, "support", "1.0.3", "");
    expect((await listAgents(ports, stranger, 10)).items).toEqual([]);
    const asks = [
      () => getAgent(ports, stranger, "support"),
      () => agentVersions(ports, stranger, "support"),
      () => agentHistory(ports, stranger, "support"),
      () => diffAgent(ports, stranger, "support", "1.0.2", "1.0.3"),
      () => deployAgent(ports, stranger, "support", "1.0.2", ""),
      () => rollBackAgent(ports, stranger, "support", "1.0.2", ""),
      () => deprecateAgent(ports, stranger, "support", "1.0.2", true, ""),
      () => retireAgent(ports, stranger, "support", "1.0.2", ""),
      () => archiveAgent(ports, stranger, "support", true, ""),
      () => agentToRun(ports, "beta", "support"),
    ];
    for (const ask of asks) expect(await refusal(ask())).toMatchObject({ code: "agent_not_found", message: "there is no agent support; 'signalbox agents list' shows what there is" });
    expect(await refusal(getAgent(ports, by({ scopes: new Set(["calls:read"]) }), "support"))).toMatchObject({ code: "forbidden" });
    expect((await getAgent(ports, by({ scopes: new Set(["sessions:read"]) }), "support")).record.agent).toBe("support");
    for (const ask of [() => deployAgent(ports, by(), "support", "1.0.2", ""), () => archiveAgent(ports, by(), "support", true, ""), () => retireAgent(ports, by(), "support", "1.0.2", "")])
      expect(await refusal(ask())).toMatchObject({ code: "forbidden", details: { missing_scope: "tools:write" } });
  });
});

test("two versions are told apart field by field, tools by their names", async () => {
  await office.tool("pay");
  await office.tool("look");
  await publish("support", "1.0.0", {
    tools: [{ tool: "pay@1.0.0" }, { tool: "look@1.0.0" }],
    limits: { max_steps: 5 },
    secrets: { KEY: "env:KEY" },
  });
  await publish("support", "1.1.0", {
    instructions: "Be short.",
    tools: [{ tool: "look@1.0.0" }, { tool: "pay@1.0.0", as: "charge", input: { type: "object", required: ["amount"] } }],
    limits: { max_steps: 9 },
  });
  expect(await diffAgent(ports, owner, "support", "1.0.0", "1.1.0")).toMatchObject({
    from: { version: "1.0.0" },
    to: { version: "1.1.0" },
    more: 0,
    differences: [
      { path: "spec.instructions", before: "Be kind.", after: "Be short." },
      { path: "spec.tools.pay.as", before: "pay", after: "charge" },
      { path: "spec.tools.pay.input", before: null, after: { type: "object", required: ["amount"] } },
      { path: "spec.limits.max_steps", before: 5, after: 9 },
      { path: "spec.secrets.KEY", before: "env:KEY", after: null },
    ],
  });
  expect((await diffAgent(ports, owner, "support", "1.0.0", "1.0.0")).differences).toEqual([]);
});

test("a comment has a bound", async () => {
  await publish("support");
  expect(await refusal(deployAgent(ports, owner, "support", "1.0.0", "x".repeat(501)))).toMatchObject({ code: "invalid_input" });
  await deployAgent(ports, owner, "support", "1.0.0", "x".repeat(500));
});
