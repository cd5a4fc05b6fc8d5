// The order of the door's checks, its routes and their scopes, the names of requests, and what the log says.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../test/support/http-door.ts";
import { scriptedApprovalId, scriptedWebhookId } from "../../../../../test/support/scripted-governance.ts";
import { scriptedCallId, scriptedPrincipals } from "../../../../../test/support/scripted-service.ts";
import { createDoorLog } from "./log.ts";
import { routeTable, writtenPath } from "./routes/table.ts";

const writtenRoutes = [
  "POST /v1/executions tools:invoke",
  "GET /v1/executions calls:read",
  "GET /v1/executions/:id calls:read",
  "GET /v1/executions/:id/events calls:read",
  "POST /v1/executions/:id/cancel calls:cancel",
  "POST /v1/executions/:id/resolve approvals:decide",
  "GET /v1/executions/:id/stream calls:read|tools:invoke",
  "PUT /v1/files tools:invoke|tools:write",
  "PUT /v1/packages tools:write",
  "GET /v1/tools tools:read",
  "PUT /v1/tools tools:write",
  "GET /v1/tools/:name tools:read",
  "POST /v1/tools/:name/activate tools:write",
  "GET /v1/tools/:name/activations tools:read",
  "POST /v1/tools/:name/rollback tools:write",
  "POST /v1/tools/:name/pin tools:write",
  "DELETE /v1/tools/:name/pin tools:write",
  "POST /v1/tools/:name/deprecate tools:write",
  "POST /v1/tools/:name/quarantine tools:write",
  "POST /v1/tools/:name/release tools:write",
  "POST /v1/tools/:name/enable tools:write",
  "POST /v1/tools/:name/disable tools:write",
  "GET /v1/tools:pins tools:read",
  "GET /v1/tools:projects tools:read",
  "GET /v1/agents tools:read|sessions:read",
  "PUT /v1/agents tools:write",
  "GET /v1/agents/:name tools:read|sessions:read",
  "GET /v1/agents/:name/versions tools:read|sessions:read",
  "POST /v1/agents/:name/deploy tools:write",
  "POST /v1/agents/:name/rollback tools:write",
  "POST /v1/agents/:name/deprecate tools:write",
  "POST /v1/agents/:name/retire tools:write",
  "POST /v1/agents/:name/archive tools:write",
  "POST /v1/agents/:name/unarchive tools:write",
  "GET /v1/agents/:name/diff tools:read|sessions:read",
  "GET /v1/agents/:name/history tools:read|sessions:read",
  "POST /v1/sessions sessions:run",
  "GET /v1/sessions sessions:read",
  "GET /v1/sessions/:id sessions:read",
  "POST /v1/sessions/:id/messages sessions:run",
  "POST /v1/sessions/:id/cancel sessions:run",
  "POST /v1/sessions/:id/complete sessions:run",
  "GET /v1/sessions/:id/events sessions:read",
  "GET /v1/sessions/:id/stream sessions:read",
  "GET /v1/sessions/:id/timeline sessions:read",
  "GET /v1/policies tools:read",
  "PUT /v1/policies policies:write",
  "GET /v1/policies/:name tools:read",
  "POST /v1/policies/:name/activate policies:write",
  "POST /v1/policies/:name/withdraw policies:write",
  "GET /v1/policies:defaults tools:read",
  "PUT /v1/policies:defaults policies:write",
  "POST /v1/policies:explain tools:read",
  "POST /v1/policies:test tools:read",
  "GET /v1/approvals approvals:decide|calls:read",
  "GET /v1/approvals/:id approvals:decide|calls:read",
  "POST /v1/approvals/:id/votes approvals:decide",
  "GET /v1/freezes calls:read",
  "POST /v1/freezes policies:write",
  "POST /v1/freezes:lift policies:write",
  "GET /v1/keys admin",
  "POST /v1/keys admin",
  "DELETE /v1/keys/:id admin",
  "GET /v1/grants admin",
  "POST /v1/grants admin",
  "DELETE /v1/grants/:id admin",
  "GET /v1/projects admin",
  "PUT /v1/projects/:project admin",
  "POST /v1/executions:resolve approvals:decide",
  "POST /v1/executions/:id/replay tools:invoke",
  "GET /v1/tenants admin",
  "POST /v1/tenants admin",
  "GET /v1/tenants/:tenant admin",
  "PUT /v1/tenants/:tenant admin",
  "GET /v1/tenants/:tenant/keys admin",
  "POST /v1/tenants/:tenant/keys admin",
  "DELETE /v1/tenants/:tenant/keys/:id admin",
  "GET /v1/limits admin",
  "PUT /v1/limits admin",
  "DELETE /v1/limits admin",
  "GET /v1/usage usage:read",
  "GET /v1/webhooks admin",
  "POST /v1/webhooks admin",
  "DELETE /v1/webhooks/:id admin",
  "GET /v1/webhooks:deliveries admin",
  "GET /v1/audit audit:read",
  "POST /v1/audit:verify audit:read",
  "GET /v1/workers calls:read",
  "GET /v1/status calls:read",
  "GET /healthz open",
  "GET /readyz open",
  "GET /metrics open",
  "GET /openapi.json open",
  "GET /docs open",
  "GET /docs/ open",
  "GET /docs/page.css open",
  "GET /docs/page.js open",
  "GET /docs/swagger-ui.css open",
  "GET /docs/swagger-ui-bundle.js open",
];
const guarded = writtenRoutes.map((line) => line.split(" ")).filter(([, , scope]) => scope !== "open") as [
  string,
  string,
  string,
][];
/** Any one of the scopes that stand with a route is enough. */
const contented = guarded.flatMap(([method, path, scopes]) =>
  scopes.split("|").map((scope): [string, string, string] => [method, path, scope]),
);
const idOf = (path: string): string => {
  if (path.startsWith("/v1/approvals")) return scriptedApprovalId;
  return path.startsWith("/v1/webhooks") ? scriptedWebhookId : scriptedCallId;
};
const pathOf = (path: string): string =>
  path
    .replace("/:id", `/${idOf(path)}`)
    .replace("/:name", "/echo")
    .replace("/:project", "/web");
const errorOf = (heard: { readonly json: unknown }) => (heard.json as { error: Record<string, unknown> }).error;

test("every route stands in the table with its scope", () => {
  const lines = routeTable.map((route) => {
    const scopes = typeof route.scope === "string" ? [route.scope] : (route.scope ?? ["open"]);
    return `${route.method} ${writtenPath(route)} ${scopes.join("|")}`;
  });
  expect(lines).toEqual(writtenRoutes);
});

describe("the order of the checks", () => {
  test.each(guarded)(
    "%s %s refuses who does not say who they are, before it looks at the body",
    async (method, path) => {
      const door = await openDoor();
      const body = method === "GET" ? {} : { body: "{" };
      const heard = await door.ask(method, `${pathOf(path)}?stray=1`, { token: null, ...body });
      expect(heard.status).toBe(401);
      expect(errorOf(heard)["code"]).toBe("unauthenticated");
      expect(heard.headers.get("www-authenticate")).toBe('Bearer realm="signalbox"');
      expect(door.service.reached.map((one) => one.method)).toEqual(["authenticate"]);
    },
  );

  test.each(guarded)("%s %s asks for its scope before it looks at the body: %s", async (method, path, scopes) => {
    const door = await openDoor({
      authenticate: async () => ({ ...alice, scopes: new Set(["secrets:write"] as const) }),
    });
    const body = method === "GET" ? {} : { body: "{" };
    const heard = await door.ask(method, `${pathOf(path)}?stray=1`, body);
    expect(heard.status).toBe(403);
    expect(errorOf(heard)).toMatchObject({ code: "forbidden", details: { missing_scope: scopes.split("|")[0] } });
    expect(door.service.reached.map((one) => one.method)).toEqual(["authenticate"]);
  });

  test.each(contented)("%s %s is content with its scope alone: %s", async (method, path, scope) => {
    const door = await openDoor({ authenticate: async () => ({ ...alice, scopes: new Set([scope as "admin"]) }) });
    const heard = await door.ask(method, pathOf(path), method === "GET" || method === "DELETE" ? {} : { body: "{" });
    expect([200, 400]).toContain(heard.status);
    expect(heard.status === 200 ? "" : errorOf(heard)["code"]).not.toBe("forbidden");
  });

  test("vic, who lacks tools:invoke, learns that and nothing about his input", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", {
      token: "vic-token",
      body: '{"tool":"echo","input":{},"strange":1}',
    });
    expect(heard.status).toBe(403);
    expect(errorOf(heard)).toMatchObject({ code: "forbidden", details: { missing_scope: "tools:invoke" } });
    expect(heard.text).not.toContain("strange");
  });

  test("a refusal for a missing scope is told to whoever keeps the audit, and their error is the answer", async () => {
    const told: unknown[] = [];
    const door = await openDoor(
      {},
      {
        onForbidden: async ({ principal, requestId }, scope, route) =>
          void told.push([principal.name, requestId, scope, route]),
      },
    );
    const heard = await door.ask("DELETE", "/v1/keys/key_1", {
      token: "vic-token",
      headers: { "x-request-id": "r-1" },
    });
    expect(heard.status).toBe(403);
    expect(told).toEqual([["user:vic", "r-1", "admin", "/v1/keys/:id"]]);
  });

  test("where one of two scopes is enough, a refusal names both, and the first is written down", async () => {
    const told: unknown[] = [];
    const door = await openDoor({}, { onForbidden: async (_asked, scope, route) => void told.push([scope, route]) });
    const heard = await door.ask("GET", `/v1/approvals/${scriptedApprovalId}`, { token: "vic-token" });
    expect(heard.status).toBe(403);
    expect(errorOf(heard)).toMatchObject({
      message:
        "this credential lacks the scope approvals:decide or calls:read; use a key that has it, or ask an administrator for one",
      details: {
        reason: "missing_scope",
        missing_scope: "approvals:decide",
        any_of: ["approvals:decide", "calls:read"],
      },
    });
    expect(told).toEqual([["approvals:decide", "/v1/approvals/:id"]]);
  });

  test.each([
    ["expired-token", "token_expired"],
    ["revoked-token", "key_revoked"],
    ["other-token", "unauthenticated"],
  ])("%s → 401 %s", async (token, code) => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/tools", { token });
    expect([heard.status, errorOf(heard)["code"]]).toEqual([401, code]);
  });

  test.each([
    ["Basic YWxpY2U6eA==", undefined],
    ["alice-token", undefined],
    ["Bearer", undefined],
    ["Bearer two words", undefined],
    ["bearer alice-token", "alice-token"],
  ])("of the header Authorization: %s the runtime sees the token %s", async (authorization, token) => {
    const door = await openDoor();
    await door.ask("GET", "/v1/tools", { token: null, headers: { authorization } });
    expect(door.service.reached[0]?.args[0]).toBe(token);
  });
});

const alice = scriptedPrincipals["alice-token"]!;

describe("what is open to everybody", () => {
  test("health says that the process answers, even when it is not ready", async () => {
    const status = {
      version: "0",
      replica: "r",
      startedAt: 0,
      ready: false,
      draining: true,
      reasons: ["draining"],
      calls: {},
      workers: 0,
    };
    const door = await openDoor({ status: () => status });
    const health = await door.ask("GET", "/healthz", { token: null });
    expect([health.status, health.json]).toEqual([200, { status: "ok" }]);
    const ready = await door.ask("GET", "/readyz", { token: null });
    expect([ready.status, ready.json]).toEqual([503, { ready: false, reasons: ["draining"] }]);
  });

  test("readiness is 200 when nothing stands against it", async () => {
    const door = await openDoor();
    const ready = await door.ask("GET", "/readyz", { token: null });
    expect([ready.status, ready.json]).toEqual([200, { ready: true, reasons: [] }]);
  });

  test("metrics are open on loopback", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/metrics", { token: null });
    expect([heard.status, heard.text]).toEqual([200, "tool_executions_total 7\n"]);
    expect(heard.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  test.each([{ host: "0.0.0.0" }, { metricsOpen: false }])("metrics count for every tenant: with %j they are the operator's, with the scope usage:read", async (options) => {
    const door = await openDoor({}, options);
    expect((await door.ask("GET", "/metrics", { token: null })).status).toBe(401);
    const vic = await door.ask("GET", "/metrics", { token: "vic-token" });
    expect(errorOf(vic)["details"]).toMatchObject({ missing_scope: "usage:read" });
    const alice = await door.ask("GET", "/metrics");
    expect([alice.status, errorOf(alice)["details"]]).toEqual([403, { reason: "operator_only" }]);
    expect((await door.ask("GET", "/metrics", { token: "operator-token" })).text).toBe("tool_executions_total 7\n");
  });

  test("metrics can be opened beyond loopback on purpose", async () => {
    const door = await openDoor({}, { host: "0.0.0.0", metricsOpen: true });
    expect((await door.ask("GET", "/metrics", { token: null })).status).toBe(200);
  });
});

describe("paths without a route", () => {
  test.each(["/", "/v1", "/v2/tools", "/v1/executions/", "/v1/tools/a/b", "/v1/audit"])(
    "POST %s is nowhere or somewhere else",
    async (path) => {
      const door = await openDoor();
      const heard = await door.ask("POST", path, { token: null, body: "{}" });
      expect(heard.status).toBe(404);
      expect(errorOf(heard)["code"]).toBe("route_not_found");
      expect(door.service.reached).toEqual([]);
    },
  );

  test.each([
    ["PUT", "/v1/executions", ["POST", "GET"]],
    ["DELETE", `/v1/executions/${scriptedCallId}`, ["GET"]],
    ["GET", "/v1/audit:verify", ["POST"]],
    ["PATCH", "/v1/tools/echo?x=1", ["GET"]],
    ["POST", "/healthz", ["GET"]],
    ["DELETE", `/v1/approvals/${scriptedApprovalId}`, ["GET"]],
    ["GET", `/v1/approvals/${scriptedApprovalId}/votes`, ["POST"]],
    ["POST", "/v1/policies", ["GET", "PUT"]],
    ["DELETE", "/v1/policies/payments", ["GET"]],
    ["POST", "/v1/policies:defaults", ["GET", "PUT"]],
    ["GET", "/v1/policies:explain", ["POST"]],
    ["GET", "/v1/tools/echo/pin", ["POST", "DELETE"]],
    ["POST", "/v1/tools/echo/activations", ["GET"]],
    ["PUT", "/v1/tools:pins", ["GET"]],
    ["GET", "/v1/projects/web", ["PUT"]],
    ["GET", "/v1/freezes:lift", ["POST"]],
    ["GET", `/v1/webhooks/${scriptedWebhookId}`, ["DELETE"]],
    ["POST", "/v1/webhooks:deliveries", ["GET"]],
  ])("%s %s names the methods that the path has", async (method, path, methods) => {
    const door = await openDoor();
    const heard = await door.ask(method, path);
    expect(heard.status).toBe(404);
    expect(errorOf(heard)).toMatchObject({ code: "route_not_found", details: { allowed_methods: methods } });
  });

  test.each(["/v1/approvals", "/v1/policies:defaults", "/v1/tools:pins"])("HEAD %s is not served", async (path) => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send(`HEAD ${path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
    expect(await wire.closed()).toMatch(/^HTTP\/1\.1 404 /);
    expect(door.service.reached).toEqual([]);
  });

  test("a path that is no URL is refused in the usual shape", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/tools/%zz", { headers: { "x-request-id": "bad-url" } });
    expect(heard.status).toBe(400);
    expect(errorOf(heard)).toMatchObject({
      code: "invalid_input",
      type: "invalid_request",
      retryable: false,
      request_id: "bad-url",
    });
  });

  test.each([
    ["GET", "/v1/status?verbose=1"],
    ["POST", "/v1/executions?mode=async"],
    ["DELETE", "/v1/keys/key_1?force=1"],
    ["GET", `/v1/approvals/${scriptedApprovalId}?full=1`],
    ["POST", "/v1/policies:explain?dry_run=true"],
    ["POST", "/v1/tools/echo/rollback?version=1.0.0"],
    ["GET", "/v1/tools/echo/activations?limit=1"],
    ["POST", "/v1/freezes?tool=echo"],
    ["DELETE", "/v1/tools/echo/pin?force=1"],
  ])("%s %s: parameters that mean nothing are refused", async (method, path) => {
    const door = await openDoor();
    const heard = await door.ask(method, path, method === "POST" ? { body: '{"tool":"echo","input":1}' } : {});
    expect([heard.status, errorOf(heard)["code"]]).toEqual([400, "invalid_input"]);
  });
});

describe("what every answer carries", () => {
  test.each(["abc", "A-b_c.9", "x".repeat(64)])("the request id %s is kept", async (id) => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/tools/nope/x", { headers: { "x-request-id": id } });
    expect(heard.headers.get("x-request-id")).toBe(id);
    expect(errorOf(heard)["request_id"]).toBe(id);
  });

  test.each(["", "a b", "a,b", "x".repeat(65), "a;b", '"a"', "é"])("the request id %j is replaced", async (id) => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/healthz", { headers: { "x-request-id": id } });
    expect(heard.headers.get("x-request-id")).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  test("made ids take their time and chance from outside", async () => {
    const door = await openDoor({}, { now: () => 0, random: (bytes) => new Uint8Array(bytes) });
    const heard = await door.ask("GET", "/healthz");
    // 2 bits of padding and 48 of time, then 01110 00000 00000 01000: version 7, 12 zero bits, variant 2.
    expect(heard.headers.get("x-request-id")).toBe("req_0000000000E008000000000000");
  });

  test("the runtime gets the same id", async () => {
    const door = await openDoor();
    await door.ask("GET", "/v1/tools", { headers: { "x-request-id": "mine" } });
    expect(door.service.reached[0]).toMatchObject({ method: "authenticate", args: ["alice-token", "mine"] });
    expect(door.service.reached[1]?.asked).toMatchObject({ requestId: "mine", principal: { name: "user:alice" } });
  });

  test.each([
    ["GET", "/healthz"],
    ["GET", "/v1/tools"],
    ["GET", "/nowhere"],
    ["GET", "/v1/tools/%zz"],
  ])("%s %s is not cached and not sniffed", async (method, path) => {
    const door = await openDoor();
    const { headers } = await door.ask(method, path);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  });
});

describe("the log", () => {
  test("has one line a request, with ids and the outcome, and nothing that was sent", async () => {
    const door = await openDoor();
    const body = '{"tool":"echo","input":{"secret":"s3cr3t"},"idempotency_key":"k-1"}';
    await door.ask("POST", "/v1/executions", { body, headers: { "x-request-id": "r-1" } });
    const line = await door.line((one) => one["request_id"] === "r-1");
    expect(line).toEqual({
      level: "info",
      message: "request",
      request_id: "r-1",
      tenant: "acme",
      principal: "user:alice",
      method: "POST",
      route: "/v1/executions",
      execution_id: scriptedCallId,
      status: 200,
      ms: expect.any(Number) as number,
    });
    expect(JSON.stringify(door.lines)).not.toContain("s3cr3t");
  });

  test("names the error's code, and the route by its pattern", async () => {
    const door = await openDoor();
    await door.ask("GET", "/v1/executions/someone-elses?x=secret", { headers: { "x-request-id": "r-2" } });
    const line = await door.line((one) => one["request_id"] === "r-2");
    expect(line).toMatchObject({ route: "/v1/executions/:id", status: 400, code: "invalid_input" });
    expect(JSON.stringify(door.lines)).not.toMatch(/someone-elses|secret|alice-token/);
  });

  test("keeps the cause of an error that the caller is not told", async () => {
    const door = await openDoor({
      listTools: async () => {
        throw new TypeError("db password is hunter2");
      },
    });
    const heard = await door.ask("GET", "/v1/tools", { headers: { "x-request-id": "r-3" } });
    expect(heard.status).toBe(500);
    expect(errorOf(heard)).toEqual({
      code: "internal",
      message: "the runtime met an error of its own; its log names the cause under this request_id",
      type: "runtime",
      retryable: false,
      details: {},
      request_id: "r-3",
    });
    expect(door.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    expect(door.lines.find(({ level }) => level === "error")).toMatchObject({ request_id: "r-3", route: "/v1/tools" });
  });

  test("is JSON, a line a time", () => {
    const written: string[] = [];
    const log = createDoorLog({ write: (line: string) => void written.push(line) });
    log.info({ request_id: "r", status: 200 }, "request");
    log.error({ err: new TypeError("broken") }, "internal error");
    expect(written.map((line) => JSON.parse(line) as unknown)).toEqual([
      { level: "info", time: expect.any(Number) as number, request_id: "r", status: 200, msg: "request" },
      {
        level: "error",
        time: expect.any(Number) as number,
        err: { type: "TypeError", message: "broken", stack: expect.stringContaining("server.test.ts") as string },
        msg: "internal error",
      },
    ]);
  });
});
