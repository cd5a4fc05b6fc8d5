// Tools as their owners handle them: published once, active on purpose, shown to those who may call them.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, manifest, refusal } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, result, started } from "../../../../test/support/hand-hub.ts";
import { paper } from "../../../../test/support/policy-office.ts";
import type { ToolQuery } from "../registry/types.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor();
  await corridor.runtime.recover();
});
afterEach(() => corridor.close());

const owner = asked({ name: "user:own", scopes: new Set(["tools:write", "tools:read"]) });
const caller = asked({ scopes: new Set(["tools:invoke", "tools:read"]) });
const register = (text: Parameters<typeof manifest>[0] = {}, options = {}) =>
  corridor.service.registerTool(owner, manifest(text), options);

describe("registering", () => {
  test("the first version is active by itself, later ones on purpose", async () => {
    expect(await register()).toMatchObject({
      active: true,
      alreadyThere: false,
      version: { tenant: "acme", trust: "first_party", status: "active", publishedBy: "user:own" },
    });
    expect((await register({ version: "1.1.0" })).active).toBe(false);
    expect((await register({ version: "1.2.0" }, { activate: true })).active).toBe(true);
    expect((await register({ name: "ship" }, { activate: false })).active).toBe(false);
    expect(
      (await corridor.audit())
        .filter(({ action }) => action === "tool.registered")
        .map(({ tool, version, details }) => [tool, version, details]),
    ).toEqual([
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
    [
      "an executor that this version does not serve",
      manifest({ spec: { executor: { type: "mcp", server: "s", tool: "t" } } }),
      "invalid_input",
    ],
    ["a trust class", manifest({ spec: { trust: "first_party" } }), "invalid_input"],
  ])("%s is refused with its problems, and nothing is kept", async (_, document, code) => {
    const refused = await refusal(corridor.service.registerTool(owner, document, {}));
    expect(refused).toMatchObject({
      code,
      details: { problems: [expect.objectContaining({ path: expect.any(String) as string })] },
    });
    expect((await corridor.service.listTools(owner, 10)).items).toEqual([]);
  });

  test("what is missing and what the registry gives by itself are refused with their places", async () => {
    const whole = manifest();
    const { owner: _owner, ...metadata } = whole.metadata;
    const placesOf = async (document: unknown): Promise<unknown> => {
      const { details } = await refusal(corridor.service.registerTool(owner, document, {}));
      const problems = (details?.["problems"] ?? []) as readonly { readonly path: string }[];
      return problems.map(({ path }) => path);
    };
    expect(await placesOf({ ...whole, metadata })).toEqual(["metadata.owner"]);
    expect(await placesOf(manifest({ spec: { trust: "first_party" } }))).toEqual(["spec.trust"]);
  });

  const judge = { label: "judge", principal: "user:judge", scopes: ["approvals:decide"], roles: ["finance"] } as const;

  test("policies that it names must be in force; once published, that they are withdrawn later is no news", async () => {
    const office = asked({ name: "user:own", scopes: new Set(["policies:write"]) });
    await corridor.service.createKey(asked({ scopes: new Set(["*"]) }), judge);
    const spec = { default_policies: ["ask"] };
    expect(await refusal(register({ spec }))).toMatchObject({
      code: "invalid_input",
      details: { problems: [{ path: "spec.default_policies[0]" }] },
    });
    expect((await corridor.service.listTools(owner, 10)).items).toEqual([]);
    await corridor.service.publishPolicy(office, paper({ name: "ask" }), {});
    expect(await register({ spec })).toMatchObject({ alreadyThere: false, warnings: [] });
    await corridor.service.setPolicyStatus(office, "ask", "1.0.0", "withdrawn");
    expect(await register({ spec })).toMatchObject({ alreadyThere: true });
  });

  test("a rule in force that the new version does not fit is told", async () => {
    await register();
    const office = asked({ name: "user:own", scopes: new Set(["policies:write"]) });
    await corridor.service.createKey(asked({ scopes: new Set(["*"]) }), judge);
    const spec = { match: { tools: ["pay"] }, when: "args.amount > 1000.0" };
    await corridor.service.publishPolicy(office, paper({ name: "limit", spec }), {});
    const input = { type: "object", properties: { amount: { type: "string" } }, required: ["amount"] };
    const { warnings } = await register({ version: "2.0.0", spec: { input } });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("spec.input: does not fit the policy limit@1.0.0: > does not go with args.amount");
  });
});

describe("a running call", () => {
  /** Invokes `pay`; the worker has begun with it. */
  async function begin() {
    const worker = corridor.worker("w1");
    const answer = corridor.invoke({ mode: "sync" });
    for (;;) {
      const invoke = worker.last("invoke");
      if (invoke === undefined) await settled();
      else {
        for (const message of [accepted(invoke.callId), started(invoke.callId)]) worker.say(message);
        return { answer, finish: () => worker.say(result(invoke.callId)) };
      }
    }
  }

  beforeEach(() => corridor.grant(["*"]));

  test("is not touched by a new version, which can be called without a restart", async () => {
    await register();
    const { answer, finish } = await begin();
    await register({ version: "1.4.0" });
    expect((await corridor.invoke({ version: "^1.1.0" })).call).toMatchObject({ version: "1.4.0", state: "queued" });
    finish();
    expect((await answer).call).toMatchObject({ version: "1.0.0", state: "succeeded" });
  });

  test("goes on while its version is rolled back, and the next call meets the older one", async () => {
    await register({ version: "0.9.0" });
    await register({}, { activate: true });
    const { answer, finish } = await begin();
    expect((await corridor.service.rollBackTool(owner, "pay", undefined)).from).toBe("1.0.0");
    expect((await corridor.invoke()).call.version).toBe("0.9.0");
    finish();
    expect((await answer).call).toMatchObject({ version: "1.0.0", state: "succeeded" });
  });

  test("ends as it would have, when its version is quarantined meanwhile", async () => {
    await register();
    const { answer, finish } = await begin();
    await corridor.service.quarantineTool(owner, "pay", "1.0.0", { released: false, reason: "leaks" });
    expect((await refusal(corridor.invoke())).code).toBe("integrity_violation");
    finish();
    expect((await answer).call).toMatchObject({ version: "1.0.0", state: "succeeded" });
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
    expect((await corridor.audit()).find(({ action }) => action === "tool.activated")).toMatchObject({
      tool: "pay",
      version: "2.0.0",
      principal: "user:own",
    });
    expect((await refusal(corridor.service.activateTool(owner, "pay", "3.0.0"))).code).toBe("tool_not_found");
    expect((await refusal(corridor.service.activateTool(owner, "ship", "1.0.0"))).code).toBe("tool_not_found");
  });
});

describe("what a caller sees", () => {
  const names = async (by: typeof caller): Promise<string[]> =>
    (await corridor.service.listTools(by, 10)).items.map(({ tool }) => tool);

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

  test("what is quarantined can be looked at, and what is pinned is what is shown", async () => {
    await register({ version: "1.1.0" });
    await corridor.service.pinTool(owner, "pay", "1.1.0");
    expect((await corridor.service.getTool(caller, "pay")).version.version).toBe("1.1.0");
    await corridor.service.quarantineTool(owner, "pay", undefined, { released: false, reason: "leaks" });
    expect(await corridor.service.getTool(caller, "pay", "1.0.0")).toMatchObject({
      version: { version: "1.0.0", status: "quarantined" },
      versions: ["1.1.0", "1.0.0"],
    });
    expect((await corridor.service.getTool(caller, "pay")).version).toMatchObject({
      version: "1.1.0",
      status: "quarantined",
    });
  });

  test("an unknown version comes with the newest ones; a wish that is none is told", async () => {
    await register({ version: "1.1.0" });
    expect(await refusal(corridor.service.getTool(caller, "pay", "9.0.0"))).toMatchObject({
      code: "tool_not_found",
      details: { versions: ["1.1.0", "1.0.0"] },
    });
    expect((await refusal(corridor.service.getTool(caller, "pay", "newest"))).code).toBe("invalid_input");
    expect((await refusal(corridor.service.getTool(caller, "ship", "9.0.0"))).message).toBe(
      "there is no tool ship 9.0.0",
    );
  });

  test("a search narrows the tenant's tools and the platform's alike, and turns pages", async () => {
    const found = async (query: ToolQuery, limit = 10): Promise<readonly string[][]> => {
      const pages: string[][] = [];
      for (let cursor: string | undefined; ;) {
        const page = await corridor.service.listTools(owner, limit, cursor, query);
        pages.push(page.items.map(({ tool }) => tool));
        if (page.next === undefined) return pages;
        cursor = page.next;
      }
    };
    expect(await found({ text: "HTTP" })).toEqual([["http.request"]]);
    expect(await found({ text: "pays amount", owner: "team-pay" })).toEqual([["pay", "ship", "echo", "http.request"]]);
    expect((await found({ text: "pays" }, 1)).flat()).toEqual(["pay", "ship", "echo", "http.request"]);
    expect((await found({ owner: "nobody" })).flat()).toEqual([]);
  });
});
