// The routes about tools, and manifests as JSON and as YAML.
import { describe, expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedVersion } from "../../../../../../test/support/scripted-service.ts";

const yaml = { "content-type": "application/yaml" };

test("a list shows what each tool is", async () => {
  const door = await openDoor();
  const heard = await door.ask("GET", "/v1/tools?limit=7&cursor=abc");
  expect(heard.json).toEqual({
    items: [
      {
        tool: "echo",
        active_version: "1.2.0",
        description: "Says what it is told",
        side_effect_class: "read_only",
        executor: "worker",
        owner: "team-a",
        category: "test",
        labels: { tier: "1" },
        owned_by: "acme",
        created_at: "2026-01-02T03:04:05.000Z",
      },
    ],
    next_cursor: null,
  });
  expect(door.service.reached[1]?.args).toEqual([7, "abc", {}]);
});

test("a search names words, a category, an owner and a label", async () => {
  const door = await openDoor();
  await door.ask("GET", "/v1/tools?search=send%20money&category=payments&owner=team-a&label=tier%3D1&limit=3");
  expect(door.service.reached[1]?.args).toEqual([
    3,
    undefined,
    { text: "send money", category: "payments", owner: "team-a", label: "tier=1" },
  ]);
});

test.each([
  ["search=", "/search"],
  [`search=${"x".repeat(201)}`, "/search"],
  ["category=", "/category"],
  [`owner=${"x".repeat(129)}`, "/owner"],
  ["label=", "/label"],
  ["label=a&label=b", "/label"],
  ["text=x", "/text"],
])("the search %s is refused at %s", async (query, pointer) => {
  const door = await openDoor();
  const heard = await door.ask("GET", `/v1/tools?${query}`);
  expect(heard.status).toBe(400);
  expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
});

test("one tool shows a version whole, but of secrets and environment the names alone", async () => {
  const door = await openDoor();
  const heard = await door.ask("GET", "/v1/tools/echo?version=^1.0.0");
  expect(door.service.reached[1]?.args).toEqual(["echo", "^1.0.0"]);
  expect(heard.json).toMatchObject({
    tool: "echo",
    versions: ["1.2.0", "1.1.0"],
    workers: 2,
    version: {
      version: "1.2.0",
      owner: "team-a",
      manifest_digest: "d1",
      spec: { input: { type: "object" }, timeout_ms: 30_000, secrets: ["TOKEN"], env: ["REGION"] },
    },
  });
  expect(heard.text).not.toMatch(/vault\/echo|eu-1/);
});

test("names with dots and slashes arrive as they are", async () => {
  const door = await openDoor();
  await door.ask("GET", "/v1/tools/http.request");
  await door.ask("GET", "/v1/tools/a%2Fb");
  expect(door.service.reached.filter(({ method }) => method === "getTool").map(({ args }) => args[0])).toEqual([
    "http.request",
    "a/b",
  ]);
});

test("a tool that is not there", async () => {
  const door = await openDoor({
    getTool: async () => {
      throw new SignalboxError("tool_not_found", "there is no tool ecoh", { details: { did_you_mean: ["echo"] } });
    },
  });
  const heard = await door.ask("GET", "/v1/tools/ecoh");
  expect(heard.status).toBe(404);
  expect(heard.json).toMatchObject({ error: { code: "tool_not_found", details: { did_you_mean: ["echo"] } } });
});

describe("registering", () => {
  test("JSON reaches the registry as it was parsed, long numbers and all", async () => {
    const door = await openDoor();
    const body = '{"kind":"Tool","spec":{"input":{"maximum":9007199254740993}}}';
    const heard = await door.ask("PUT", "/v1/tools?activate=false", { body });
    expect(heard.status).toBe(201);
    expect(heard.json).toMatchObject({
      tool: "echo",
      version: "1.2.0",
      active: true,
      already_there: false,
      warnings: [],
    });
    const [document, options] = door.service.reached[1]!.args;
    expect([JSON.stringify(document), options]).toEqual([body, { activate: false }]);
  });

  test("what was there before is 200", async () => {
    const door = await openDoor({
      registerTool: async () => ({
        version: scriptedVersion,
        alreadyThere: true,
        active: false,
        warnings: ["unsafe, and nobody to ask"],
      }),
    });
    const heard = await door.ask("PUT", "/v1/tools", { body: "{}" });
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({ active: false, already_there: true, warnings: ["unsafe, and nobody to ask"] });
  });

  test.each(["application/yaml", "text/yaml; charset=utf-8", "application/x-yaml"])("%s is taken", async (type) => {
    const door = await openDoor();
    const body = "kind: Tool\nmetadata: {name: echo, version: 1.2.0}\nspec:\n  input:\n    maximum: 9007199254740993\n";
    const heard = await door.ask("PUT", "/v1/tools?activate=true", { body, headers: { "content-type": type } });
    expect(heard.status).toBe(201);
    const [document, options] = door.service.reached[1]!.args;
    expect(JSON.stringify(document)).toBe(
      '{"kind":"Tool","metadata":{"name":"echo","version":"1.2.0"},"spec":{"input":{"maximum":9007199254740993}}}',
    );
    expect(options).toEqual({ activate: true });
  });

  test("YAML that is none is refused by its place", async () => {
    const door = await openDoor();
    const heard = await door.ask("PUT", "/v1/tools", { body: "kind: Tool\nspec: [1, 2\n", headers: yaml });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({
      error: { code: "invalid_input", message: expect.stringContaining("line 3") as string },
    });
  });

  test.each(["activate=yes", "activate=", "force=true"])("%s is refused", async (query) => {
    const door = await openDoor();
    expect((await door.ask("PUT", `/v1/tools?${query}`, { body: "{}" })).status).toBe(400);
  });
});
