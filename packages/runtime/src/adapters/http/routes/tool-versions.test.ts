// The routes about which version of a tool runs, and where.
import { describe, expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";

const at = "2026-01-02T03:04:05.000Z";
const shownTool = {
  tool: "echo",
  active_version: "1.2.0",
  description: "Says what it is told",
  side_effect_class: "read_only",
  executor: "worker",
  owner: "team-a",
  category: "test",
  labels: { tier: "1" },
  owned_by: "acme",
  created_at: at,
};
const changed = { changed_at: at, changed_by: "user:alice" };

describe("what is done to a tool reaches the runtime and is shown", () => {
  test.each([
    ["POST", "activate", '{"version":"1.3.0"}', "activateTool", ["echo", "1.3.0"], shownTool],
    [
      "POST",
      "pin",
      '{"version":"^1.0.0"}',
      "pinTool",
      ["echo", "^1.0.0"],
      { tool: "echo", version: "^1.0.0", ...changed },
    ],
    ["DELETE", "pin", undefined, "pinTool", ["echo", null], { tool: "echo", version: null, ...changed }],
    ["POST", "rollback", undefined, "rollBackTool", ["echo", undefined], { ...shownTool, from: "1.3.0" }],
    ["POST", "rollback", '{"version":"1.1.0"}', "rollBackTool", ["echo", "1.1.0"], { ...shownTool, from: "1.3.0" }],
    [
      "POST",
      "quarantine",
      '{"version":"1.2.0","reason":"leaks"}',
      "quarantineTool",
      ["echo", "1.2.0", { released: false, reason: "leaks" }],
      { tool: "echo", versions: ["1.1.0", "1.2.0"], denied: 3 },
    ],
    [
      "POST",
      "quarantine",
      '{"reason":"leaks"}',
      "quarantineTool",
      ["echo", undefined, { released: false, reason: "leaks" }],
      { tool: "echo", versions: ["1.1.0", "1.2.0"], denied: 3 },
    ],
    [
      "POST",
      "release",
      undefined,
      "quarantineTool",
      ["echo", undefined, { released: true, reason: "" }],
      { tool: "echo", versions: ["1.1.0", "1.2.0"], denied: 0 },
    ],
    [
      "POST",
      "release",
      '{"version":"1.1.0","reason":"mended"}',
      "quarantineTool",
      ["echo", "1.1.0", { released: true, reason: "mended" }],
      { tool: "echo", versions: ["1.1.0", "1.2.0"], denied: 0 },
    ],
    [
      "POST",
      "enable",
      '{"project":"web"}',
      "enableTool",
      ["web", "echo", true],
      { project: "web", tool: "echo", enabled: true, ...changed },
    ],
    [
      "POST",
      "disable",
      undefined,
      "enableTool",
      ["default", "echo", false],
      { project: "default", tool: "echo", enabled: false, ...changed },
    ],
  ] as const)("%s %s %s", async (method, action, body, serviceMethod, args, shown) => {
    const door = await openDoor();
    const heard = await door.ask(method, `/v1/tools/echo/${action}`, body === undefined ? {} : { body });
    expect([heard.status, heard.json]).toEqual([200, shown]);
    expect(door.service.reached[1]).toMatchObject({ method: serviceMethod, args });
  });

  test.each([
    ['{"version":"1.2.0"}', true, "deprecated"],
    ['{"version":"1.2.0","deprecated":true}', true, "deprecated"],
    ['{"version":"1.2.0","deprecated":false}', false, "active"],
  ])("deprecate %s", async (body, deprecated, status) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/tools/echo/deprecate", { body });
    expect([heard.status, heard.json]).toMatchObject([200, { tool: "echo", version: "1.2.0", status }]);
    expect(door.service.reached[1]?.args).toEqual(["echo", "1.2.0", deprecated]);
  });
});

describe("a body that says something else is refused by name", () => {
  test.each([
    ["activate", "{}", "/version"],
    ["activate", '{"version":1}', "/version"],
    ["activate", '{"version":"1.0.0","force":true}', "/force"],
    ["pin", "{}", "/version"],
    ["pin", '{"version":null}', "/version"],
    ["pin", '{"version":"1.0.0","requested":"x"}', "/requested"],
    ["rollback", '{"version":""}', "/version"],
    ["rollback", '{"to":"1.0.0"}', "/to"],
    ["deprecate", '{"deprecated":true}', "/version"],
    ["deprecate", '{"version":"1.0.0","deprecated":"yes"}', "/deprecated"],
    ["deprecate", '{"version":"1.0.0","reason":"old"}', "/reason"],
    ["quarantine", '{"version":"1.0.0"}', "/reason"],
    ["quarantine", '{"reason":""}', "/reason"],
    ["quarantine", `{"reason":"${"x".repeat(501)}"}`, "/reason"],
    ["quarantine", '{"reason":"x","version":7}', "/version"],
    ["quarantine", '{"reason":"x","released":true}', "/released"],
    ["release", '{"reason":5}', "/reason"],
    ["release", '{"version":""}', "/version"],
    ["release", '{"denied":1}', "/denied"],
    ["enable", '{"project":""}', "/project"],
    ["enable", '{"enabled":true}', "/enabled"],
    ["disable", '{"project":["web"]}', "/project"],
    ["disable", '{"tool":"echo"}', "/tool"],
  ])("%s %s at %s", async (action, body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("POST", `/v1/tools/echo/${action}`, { body });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
    expect(door.service.reached).toHaveLength(1);
  });

  test("a reason of 500 characters is not too long", async () => {
    const door = await openDoor();
    const body = `{"reason":"${"x".repeat(500)}"}`;
    expect((await door.ask("POST", "/v1/tools/echo/quarantine", { body })).status).toBe(200);
  });

  test.each(["activate", "pin", "deprecate", "quarantine"])("%s needs a body", async (action) => {
    const door = await openDoor();
    expect((await door.ask("POST", `/v1/tools/echo/${action}`)).status).toBe(400);
  });

  test("taking a pin away takes none", async () => {
    const door = await openDoor();
    expect((await door.ask("DELETE", "/v1/tools/echo/pin", { body: "{}" })).status).toBe(400);
  });
});

describe("lists", () => {
  test("activations, newest first", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/tools/echo/activations")).json).toEqual({
      items: [
        { tool: "echo", version: "1.2.0", at: "2026-01-02T03:04:06.000Z", by: "user:alice" },
        { tool: "echo", version: "1.1.0", at, by: "user:alice" },
      ],
      next_cursor: null,
    });
    expect(door.service.reached[1]).toMatchObject({ method: "activations", args: ["echo"] });
  });

  test("pins, and which projects may use what", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/tools:pins")).json).toEqual({
      items: [{ tool: "echo", version: "^1.0.0", ...changed }],
      next_cursor: null,
    });
    expect((await door.ask("GET", "/v1/tools:projects")).json).toEqual({
      items: [{ project: "web", tool: "echo", enabled: false, ...changed }],
      next_cursor: null,
    });
  });

  test("rows of one project and of several tools are walked without a loss", async () => {
    const row = { tenant: "acme", enabled: false, changedAt: 0, changedBy: "user:alice" };
    const rows = [
      { ...row, project: "b", tool: "z" },
      { ...row, project: "a", tool: "b" },
      { ...row, project: "a", tool: "a" },
    ];
    const door = await openDoor({ projectTools: async () => rows });
    const met: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = (await door.ask("GET", `/v1/tools:projects?limit=1${from}`)).json as {
        items: { project: string; tool: string }[];
        next_cursor: string | null;
      };
      met.push(...page.items.map(({ project, tool }) => `${project}.${tool}`));
      cursor = page.next_cursor;
    }
    expect(met).toEqual(["a.a", "a.b", "b.z"]);
  });

  test("empty ones are lists too", async () => {
    const none = async () => [];
    const door = await openDoor({ toolPins: none, projectTools: none, activations: none });
    for (const path of ["/v1/tools:pins", "/v1/tools:projects", "/v1/tools/echo/activations"])
      expect((await door.ask("GET", path)).text).toBe('{"items":[],"next_cursor":null}');
  });
});

test("a tool that is not there", async () => {
  const door = await openDoor({
    rollBackTool: async () => {
      throw new SignalboxError("tool_not_found", "there is no tool ecoh", { details: { did_you_mean: ["echo"] } });
    },
  });
  const heard = await door.ask("POST", "/v1/tools/ecoh/rollback");
  expect(heard.status).toBe(404);
  expect(heard.json).toMatchObject({ error: { code: "tool_not_found", details: { did_you_mean: ["echo"] } } });
});
