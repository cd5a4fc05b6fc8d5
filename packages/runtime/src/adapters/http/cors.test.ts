// Pages of other origins: which are let in, what their preflights hear, and what nobody else hears.
import { expect, test } from "vitest";
import { openDoor } from "../../../../../test/support/http-door.ts";
import { exactOrigin } from "./cors.ts";

const app = "https://app.example.com";
const door = () => openDoor({}, { corsOrigins: [app, "http://localhost:5173"] });
const preflight = (origin: string, method = "POST") => ({
  token: null,
  headers: { origin, "access-control-request-method": method, "access-control-request-headers": "authorization" },
});

test("a preflight of a named origin hears the methods of the path and our headers, without a credential", async () => {
  const { ask, line } = await door();
  const { status, text, headers } = await ask("OPTIONS", "/v1/executions", preflight(app));
  expect([status, text]).toEqual([204, ""]);
  expect(headers.get("access-control-allow-origin")).toBe(app);
  expect(headers.get("access-control-allow-methods")).toBe("POST, GET");
  expect(headers.get("access-control-allow-headers")).toBe(
    "authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id",
  );
  expect(headers.get("access-control-max-age")).toBe("600");
  expect(headers.get("vary")).toBe("origin");
  expect(headers.get("x-request-id")).toMatch(/^req_/);
  expect(await line(({ message }) => message === "request")).toMatchObject({ method: "OPTIONS", status: 204 });
});

test("answers and refusals name the origin and show their headers; cookies are never asked for", async () => {
  const { ask } = await door();
  const origin = { headers: { origin: "http://localhost:5173" } };
  for (const [path, status] of [
    ["/v1/status", 200],
    ["/v1/nothing", 404],
    ["/healthz", 200],
  ] as const) {
    const answer = await ask("GET", path, origin);
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([
      status,
      "http://localhost:5173",
    ]);
    expect(answer.headers.get("access-control-expose-headers")).toBe("*");
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  }
  const wrongKey = await ask("GET", "/v1/status", { token: "nobody", ...origin });
  expect([wrongKey.status, wrongKey.headers.get("access-control-allow-origin")]).toEqual([
    401,
    "http://localhost:5173",
  ]);
});

test.each([
  "https://evil.example.com",
  "https://app.example.com.evil.example",
  "https://app.example.com:444",
  "http://app.example.com",
  "HTTPS://APP.EXAMPLE.COM",
  "null",
  "*",
])("the origin %s hears what it would hear without the option, and that it depends on the origin", async (origin) => {
  const { ask } = await door();
  const refused = await ask("OPTIONS", "/v1/executions", preflight(origin));
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([404, null]);
  const answer = await ask("GET", "/v1/status", { headers: { origin } });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  expect(answer.headers.get("vary")).toBe("origin");
});

test("a preflight for a path that is none, and OPTIONS that is no preflight, find nothing", async () => {
  const { ask } = await door();
  expect((await ask("OPTIONS", "/v1/nothing", preflight(app))).status).toBe(404);
  expect((await ask("OPTIONS", "/v1/executions", { headers: { origin: app } })).status).toBe(404);
});

test("without the option no origin is let in, and nothing is said of origins", async () => {
  const { ask } = await openDoor();
  expect((await ask("OPTIONS", "/v1/executions", preflight(app))).status).toBe(404);
  const { headers } = await ask("GET", "/v1/status", { headers: { origin: app } });
  expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([null, null]);
});

test.each([
  ["https://app.example.com", "https://app.example.com"],
  ["http://127.0.0.1:5173", "http://127.0.0.1:5173"],
  ["https://app.example.com/", undefined],
  ["https://app.example.com/path", undefined],
  ["https://app.example.com:443", undefined],
  ["https://user@app.example.com", undefined],
  ["https://App.example.com", undefined],
  ["https://*.example.com", undefined],
  ["*", undefined],
  ["null", undefined],
  ["file:///srv", undefined],
  ["app.example.com", undefined],
])("%s as an exact origin is %s", (text, origin) => {
  expect(exactOrigin(text)).toBe(origin);
});
