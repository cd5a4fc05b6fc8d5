// The routes about the brake and about projects.
import { describe, expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";

const at = "2026-01-02T03:04:05.000Z";

describe("freezes", () => {
  test("are listed with those of the whole runtime, and may be none", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/freezes")).json).toEqual({
      items: [
        { tenant: "acme", tool: "echo", reason: "", at, by: "user:alice" },
        { tenant: "platform", tool: "", reason: "an incident", at, by: "user:root" },
      ],
      next_cursor: null,
    });
    const free = await openDoor({ listFreezes: async () => [] });
    expect((await free.ask("GET", "/v1/freezes")).text).toBe('{"items":[],"next_cursor":null}');
  });

  test.each([
    [undefined, ["", "", undefined]],
    ["{}", ["", "", undefined]],
    ['{"tool":"echo","reason":"it leaks"}', ["echo", "it leaks", undefined]],
    ['{"tenant":"beta"}', ["", "", "beta"]],
  ])("%s freezes", async (body, [tool, reason, tenant]) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/freezes", body === undefined ? {} : { body });
    expect([heard.status, heard.json]).toEqual([201, { tenant: "acme", tool, reason, at, by: "user:alice" }]);
    expect(door.service.reached[1]).toMatchObject({ method: "freeze", args: [tool, reason, tenant] });
  });

  test.each([
    [undefined, "", true],
    ['{"tool":"echo"}', "echo", false],
  ])("%s goes on", async (body, tool, lifted) => {
    const door = await openDoor({ unfreeze: async () => ({ lifted }) });
    const heard = await door.ask("POST", "/v1/freezes:lift", body === undefined ? {} : { body });
    expect([heard.status, heard.json]).toEqual([200, { tool, lifted }]);
    expect(door.service.reached[1]).toMatchObject({ method: "unfreeze", args: [tool, undefined] });
  });

  test.each([
    ["/v1/freezes", '{"tool":""}', "/tool"],
    ["/v1/freezes", '{"tool":1}', "/tool"],
    ["/v1/freezes", `{"reason":"${"x".repeat(501)}"}`, "/reason"],
    ["/v1/freezes", '{"tenant":""}', "/tenant"],
    ["/v1/freezes:lift", '{"tool":""}', "/tool"],
    ["/v1/freezes:lift", '{"reason":"x"}', "/reason"],
  ])("POST %s %s is refused at %s", async (path, body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("POST", path, { body });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
    expect(door.service.reached).toHaveLength(1);
  });
});

describe("projects", () => {
  test("are listed by name, page by page", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/projects")).json).toEqual({
      items: [
        { project: "default", environment: "", created_at: at },
        { project: "web", environment: "production", created_at: at },
      ],
      next_cursor: null,
    });
    expect((await door.ask("GET", "/v1/projects?limit=1")).json).toMatchObject({ next_cursor: "default" });
    expect((await door.ask("GET", "/v1/projects?cursor=default")).json).toMatchObject({ items: [{ project: "web" }] });
  });

  test("are made, or labelled anew", async () => {
    const door = await openDoor();
    const heard = await door.ask("PUT", "/v1/projects/web", { body: '{"environment":"staging"}' });
    expect([heard.status, heard.json]).toEqual([200, { project: "web", environment: "staging", created_at: at }]);
    expect(door.service.reached[1]).toMatchObject({ method: "putProject", args: ["web", "staging"] });
  });

  test.each([
    ["{}", "/environment"],
    ['{"environment":""}', "/environment"],
    ['{"environment":["x"]}', "/environment"],
    ['{"environment":"x","weight":2}', "/weight"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("PUT", "/v1/projects/web", { body });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  });

  test("one that is not there", async () => {
    const door = await openDoor({
      enableTool: async () => {
        throw new SignalboxError("project_not_found", "there is no project wbe");
      },
    });
    const heard = await door.ask("POST", "/v1/tools/echo/enable", { body: '{"project":"wbe"}' });
    expect([heard.status, heard.json]).toMatchObject([404, { error: { code: "project_not_found" } }]);
  });
});
