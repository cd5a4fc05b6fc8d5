// Tools as their owners handle them: published once, active on purpose, shown to those who may call them.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, manifest, refusal } from "../../../../test/support/corridor.ts";

let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

const owner = asked({ name: "user:own", scopes: new Set(["tools:write", "tools:read"]) });
const caller = asked({ scopes: new Set(["tools:invoke", "tools:read"]) });
const register = (text: Parameters<typeof manifest>[0] = {}, options = {}) => corridor.service.registerTool(owner, manifest(text), options);

describe("registering", () => {
  test("the first version is active by itself, later ones on purpose", async () => {
    expect(await register()).toMatchObject({ active: true, alreadyThere: false, version: { tenant: "acme", trust: "first_party", status: "active", publishedBy: "user:own" } });
    expect((await register({ version: "1.1.0" })).active).toBe(false);
    expect((await register({ version: "1.2.0" }, { activate: true })).active).toBe(true);
    expect((await register({ name: "ship" }, { activate: false })).active).toBe(false);
    expect((await corridor.audit()).filter(({ action }) => action === "tool.registered").map(({ tool, version, details }) => [tool, version, details])).toEqual([
      ["ship", "1.0.0", { activated: false }],
      ["pay", "1.2.0", { activated: true }],
      ["pay", "1.1.0", { activated: false }],
      ["pay", "1.0.0", { activated: true }],
    ]);
  });

  test("the same content again is no error and nothing new; other content is a conflict, for ever", async () => {
    await register();
    const records = (await corridor.audit()).length;
    expect(await register()).toMatchObject({ alreadyThere: true, active: true });
    expect(await corridor.audit()).toHaveLength(records);
    const refused = await refusal(register({ spec: { timeout: "21s" } }));
    expect(refused).toMatchObject({ code: "conflict", details: { tool: "pay", version: "1.0.0" } });
    expect(refused.details?.["digest"]).not.toBe(refused.details?.["published_digest"]);
    await corridor.grant(["*"]);
    expect((await corridor.invoke()).call.timeoutMs).toBe(20_000);
  });

  test.each<[string, unknown, string]>([
    ["no manifest", [], "invalid_input"],
    ["an unknown key", manifest({ spec: { retries: 3 } }), "invalid_input"],
    ["a schema that does not compile", manifest({ spec: { input: { type: "obiect" } } }), "invalid_input"],
    ["an executor that this version does not serve", manifest({ spec: { executor: { type: "mcp", server: "s", tool: "t" } } }), "invalid_input"],
    ["a trust class", manifest({ spec: { trust: "first_party" } }), "invalid_input"],
  ])("%s is refused with its problems, and nothing is kept", async (_, document, code) => {
    const refused = await refusal(corridor.service.registerTool(owner, document, {}));
    expect(refused).toMatchObject({ code, details: { problems: [expect.objectContaining({ path: expect.any(String) as string })] } });
    expect((await corridor.service.listTools(owner, 10)).items).toEqual([]);
  });
});

describe("activating", () => {
  test("is seen by the next call, and audited; an unknown version is not found", async () => {
    await register();
    await register({ version: "2.0.0" });
    await corridor.grant(["*"]);
    expect((await corridor.invoke()).call.version).toBe("1.0.0");
    expect((await corridor.service.activateTool(owner, "pay", "2.0.0")).activeVersion).toBe("2.0.0");
    expect((await corridor.invoke()).call.version).toBe("2.0.0");
    expect((await corridor.audit()).find(({ action }) => action === "tool.activated")).toMatchObject({ tool: "pay", version: "2.0.0", principal: "user:own" });
    expect((await refusal(corridor.service.activateTool(owner, "pay", "3.0.0"))).code).toBe("tool_not_found");
    expect((await refusal(corridor.service.activateTool(owner, "ship", "1.0.0"))).code).toBe("tool_not_found");
  });
});

describe("what a caller sees", () => {
  const names = async (by: typeof caller): Promise<string[]> => (await corridor.service.listTools(by, 10)).items.map(({ tool }) => tool);

  beforeEach(async () => {
    for (const name of ["pay", "ship"]) await register({ name });
    for (const name of ["echo", "http.request"]) await corridor.tool({ name }, "platform");
    await corridor.grant(["tool:invoke:pay", "tool:invoke:http.*"]);
  });

  test("are the tools that it may call; owners see all", async () => {
    expect(await names(caller)).toEqual(["pay", "http.request"]);
    expect(await names(owner)).toEqual(["pay", "ship", "echo", "http.request"]);
    expect(await names(asked({ tenant: "other", scopes: new Set(["tools:read"]) }))).toEqual([]);
  });

  test("a tool that it may not call is not there, in the very same words", async () => {
    const hidden = await refusal(corridor.service.getTool(caller, "ship"));
    expect(hidden).toMatchObject({ code: "tool_not_found", message: "there is no tool ship" });
    expect((await refusal(corridor.service.getTool(caller, "shop"))).message).toBe("there is no tool shop");
    expect((await corridor.service.getTool(owner, "ship")).record.tool).toBe("ship");
  });

  test("one in full: its versions, and how many workers serve the one that is shown", async () => {
    await register({ version: "1.1.0" });
    corridor.worker("w1");
    corridor.worker("w2");
    corridor.worker("w3", { tenant: "other" });
    const view = await corridor.service.getTool(caller, "pay");
    expect(view).toMatchObject({ record: { activeVersion: "1.0.0" }, version: { version: "1.0.0" }, workers: 2 });
    expect([...view.versions].toSorted()).toEqual(["1.0.0", "1.1.0"]);
    expect((await corridor.service.getTool(caller, "pay", "^1.1.0")).workers).toBe(0);
  });
});
