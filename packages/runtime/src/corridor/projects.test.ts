// Projects: their labels, and the tools that they may use.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refusal } from "../../../../test/support/corridor.ts";
import { by, noon, operator, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Asked } from "../tenancy/types.ts";
import { enableTool, listProjects, projectTools, putProject, type ProjectPorts } from "./projects.ts";

let office: PolicyOffice;
let ports: ProjectPorts;
let looks: number;
beforeEach(async () => {
  office = await PolicyOffice.open();
  looks = 0;
  ports = { ...office.ports, reconsider: () => void looks++ };
  await office.tool("pay");
  await office.tool("echo", {}, { tenant: "platform" });
});
afterEach(() => office.close());

const owner = by({ name: "user:own", scopes: new Set(["tools:write", "tools:read"]) });
const admin = by({ name: "user:root", scopes: new Set(["admin"]) });

async function runs(tool: string, project = "shop", tenant = "acme"): Promise<string> {
  const found = await ports.catalog.resolve(tenant, tool, "", undefined, project);
  return found.ok ? "runs" : found.reason;
}

describe("tools of a project", () => {
  test("the tenant's and the platform's, can be taken from it and given back", async () => {
    await putProject(ports, admin, "lab", "staging");
    for (const tool of ["pay", "echo"]) {
      expect(await enableTool(ports, owner, "shop", tool, false)).toEqual({
        tenant: "acme",
        project: "shop",
        tool,
        enabled: false,
        changedAt: noon,
        changedBy: "user:own",
      });
      expect([await runs(tool), await runs(tool, "lab")]).toEqual(["disabled", "runs"]);
    }
    expect(await runs("echo", "shop", "beta")).toBe("runs");
    expect(looks).toBe(2);
    expect((await office.audit())[0]).toMatchObject({
      action: "tool.disabled",
      principal: "user:own",
      tool: "echo",
      project: "shop",
    });
    expect((await projectTools(ports, owner)).map(({ tool, enabled }) => [tool, enabled])).toEqual([
      ["echo", false],
      ["pay", false],
    ]);
    const call = { tenant: "acme", project: "shop", tool: "pay", toolTenant: "acme", version: "1.0.0" };
    expect(await ports.catalog.standing(call)).toEqual({ ok: false, reason: "disabled" });

    await enableTool(ports, owner, "shop", "pay", true);
    expect([await runs("pay"), await runs("echo")]).toEqual(["runs", "disabled"]);
    expect(await ports.catalog.standing(call)).toEqual({ ok: true });
    expect((await office.audit())[0]).toMatchObject({ action: "tool.enabled", tool: "pay" });
    expect(looks).toBe(3);
  });

  test("a project that nobody made is refused with the one that may be meant; the key's own is not", async () => {
    expect(await refusal(enableTool(ports, owner, "shpo", "pay", false))).toMatchObject({
      code: "project_not_found",
      details: { did_you_mean: ["shop"] },
    });
    const elsewhere = by({ project: "unmade", scopes: new Set(["tools:write"]) });
    expect((await enableTool(ports, elsewhere, "unmade", "pay", false)).enabled).toBe(false);
    expect(await runs("pay", "unmade")).toBe("disabled");
  });

  test("an unknown tool is refused", async () => {
    expect((await refusal(enableTool(ports, owner, "shop", "fly", false))).code).toBe("tool_not_found");
    expect(await projectTools(ports, owner)).toEqual([]);
  });
});

describe("projects", () => {
  test("are made and relabelled; the policies hear of it", async () => {
    expect(await putProject(ports, admin, "lab", "staging")).toEqual({
      tenant: "acme",
      project: "lab",
      environment: "staging",
      createdAt: noon,
    });
    await office.clock.pass(1_000);
    expect(await putProject(ports, admin, "lab", "production")).toEqual({
      tenant: "acme",
      project: "lab",
      environment: "production",
      createdAt: noon,
    });
    expect((await listProjects(ports, admin)).map(({ project, environment }) => [project, environment])).toEqual([
      ["lab", "production"],
      ["shop", "production"],
    ]);
    expect(ports.policies.environmentOf("acme", "lab")).toBe("production");
    expect((await office.audit()).map(({ action, project, details }) => [action, project, details])).toEqual([
      ["project.changed", "lab", { environment: "production", from: "staging" }],
      ["project.created", "lab", { environment: "staging" }],
    ]);
  });

  test("of another tenant are not shown", async () => {
    expect(await listProjects(ports, operator)).toEqual([]);
  });

  test.each([
    ["", "production", "project"],
    ["a shop", "production", "project"],
    ["a\nshop", "production", "project"],
    ["p".repeat(129), "production", "project"],
    ["lab", "pro duction", "environment"],
    ["lab", "-", "environment"],
  ])("the name %j with the label %j is refused", async (project, environment, path) => {
    expect(await refusal(putProject(ports, admin, project, environment))).toMatchObject({
      code: "invalid_input",
      details: { problems: [{ path }] },
    });
    expect(await listProjects(ports, admin)).toHaveLength(1);
  });

  test("may lose their label", async () => {
    await putProject(ports, admin, "shop", "");
    expect(ports.policies.environmentOf("acme", "shop")).toBe("");
  });
});

test.each<[string, (asked: Asked) => Promise<unknown>, string]>([
  ["enableTool", (asked) => enableTool(ports, asked, "shop", "pay", false), "tools:write"],
  ["projectTools", (asked) => projectTools(ports, asked), "tools:read"],
  ["listProjects", (asked) => listProjects(ports, asked), "admin"],
  ["putProject", (asked) => putProject(ports, asked, "lab", "x"), "admin"],
])("%s needs its scope", async (_, ask, scope) => {
  expect(await refusal(ask(by({ scopes: new Set(["tools:invoke"]) })))).toMatchObject({
    code: "forbidden",
    details: { missing_scope: scope },
  });
  expect((await office.audit())[0]).toMatchObject({ status: "refused" });
});
