// Versions and permits of tools, projects, the brake and webhooks: what is asked, what is printed, and the exit codes.
import { expect, test } from "vitest";
import { cli, reaching } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const changed = { changed_at: "2026-01-31T11:00:00.000Z", changed_by: "user:me" };
const tool = { tool: "a.b", active_version: "1.0.0" };
const page = (...items: readonly object[]) => [{ body: { items, next_cursor: null } }];

test("search sends the words and what narrows them, and says when nothing is found", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/tools": page() });
  const flags = ["--category", "money", "--owner", "team-pay", "--label", "tier=1", "--limit", "5"];
  const found = await cli(["tools", "search", "charge", "card", ...flags], reaching(url));
  expect(found.err).toBe("no tools\nnext:  signalbox tools list\n");
  await cli(["tools", "list", "--owner", "team-pay"], reaching(url));
  expect(seen.map(({ line }) => line)).toEqual([
    "GET /v1/tools?search=charge+card&category=money&owner=team-pay&label=tier%3D1&limit=5",
    "GET /v1/tools?owner=team-pay",
  ]);
});

test.each([
  [
    ["tools", "pin", "a.b", "^1"],
    `POST /v1/tools/a.b/pin {"version":"^1"}`,
    { tool: "a.b", version: "^1", ...changed },
    "a.b is pinned to ^1\n",
  ],
  [
    ["tools", "unpin", "a.b"],
    "DELETE /v1/tools/a.b/pin ",
    { tool: "a.b", version: null },
    "a.b is not pinned any more\n",
  ],
  [
    ["tools", "rollback", "a.b"],
    "POST /v1/tools/a.b/rollback {}",
    { ...tool, from: "1.1.0" },
    "a.b@1.0.0 is active, not 1.1.0\n",
  ],
  [
    ["tools", "rollback", "a.b@0.9.0"],
    `POST /v1/tools/a.b/rollback {"version":"0.9.0"}`,
    { ...tool, active_version: "0.9.0", from: "1.0.0" },
    "a.b@0.9.0 is active, not 1.0.0\n",
  ],
  [
    ["tools", "deprecate", "a.b@1.0.0"],
    `POST /v1/tools/a.b/deprecate {"version":"1.0.0"}`,
    { tool: "a.b", version: "1.0.0", status: "deprecated" },
    "a.b@1.0.0 is deprecated\n",
  ],
  [
    ["tools", "deprecate", "a.b", "1.0.0", "--undo"],
    `POST /v1/tools/a.b/deprecate {"version":"1.0.0","deprecated":false}`,
    { tool: "a.b", version: "1.0.0", status: "active" },
    "a.b@1.0.0 is active\n",
  ],
  [
    ["tools", "quarantine", "a.b", "--reason", "leaks"],
    `POST /v1/tools/a.b/quarantine {"reason":"leaks"}`,
    { tool: "a.b", versions: ["1.0.0", "1.1.0"], denied: 3 },
    "a.b@1.0.0, a.b@1.1.0 are in quarantine; 3 calls that waited are denied\n",
  ],
  [
    ["tools", "release", "a.b@1.0.0", "--reason", "mended"],
    `POST /v1/tools/a.b/release {"version":"1.0.0","reason":"mended"}`,
    { tool: "a.b", versions: ["1.0.0"], denied: 0 },
    "a.b@1.0.0 is out of quarantine\n",
  ],
  [
    ["tools", "release", "a.b"],
    "POST /v1/tools/a.b/release {}",
    { tool: "a.b", versions: [], denied: 0 },
    "nothing has changed: no version of a.b was concerned\n",
  ],
  [
    ["tools", "enable", "a.b", "--project", "shop"],
    `POST /v1/tools/a.b/enable {"project":"shop"}`,
    { project: "shop", tool: "a.b", enabled: true, ...changed },
    "a.b is enabled in project shop\n",
  ],
  [
    ["tools", "disable", "a.b"],
    "POST /v1/tools/a.b/disable {}",
    { project: "default", tool: "a.b", enabled: false, ...changed },
    "a.b is disabled in project default\n",
  ],
  [
    ["projects", "set", "shop", "--environment", "production"],
    `PUT /v1/projects/shop {"environment":"production"}`,
    { project: "shop", environment: "production" },
    "shop is of environment production\n",
  ],
  [
    ["freeze", "--tool", "a.b", "--reason", "incident 7"],
    `POST /v1/freezes {"tool":"a.b","reason":"incident 7"}`,
    { tenant: "acme", tool: "a.b", reason: "incident 7" },
    "dispatch of a.b is frozen\n",
  ],
  [["freeze"], "POST /v1/freezes {}", { tenant: "acme", tool: "", reason: "" }, "dispatch of all tools is frozen\n"],
  [["unfreeze"], "POST /v1/freezes:lift {}", { tool: "", lifted: true }, "dispatch of all tools goes on\n"],
  [
    ["unfreeze", "--tool", "a.b"],
    `POST /v1/freezes:lift {"tool":"a.b"}`,
    { tool: "a.b", lifted: false },
    "a.b: nothing was frozen here\n",
  ],
  [
    ["webhooks", "remove", "wh_1"],
    "DELETE /v1/webhooks/wh_1 ",
    { webhook_id: "wh_1", removed: true },
    "wh_1 is removed\n",
  ],
] as const)("signalbox %j", async (args, asked, body, out) => {
  const { url, seen } = await scriptedHttp({ [asked.split(" ").slice(0, 2).join(" ")]: [{ body }] });
  const ended = await cli(args, reaching(url));
  expect([ended.code, ended.out]).toEqual([0, out]);
  expect(seen.map(({ line, body: sent }) => `${line} ${sent}`)).toEqual([asked]);
  expect(JSON.parse((await cli([...args, "--json"], reaching(url))).out)).toEqual(body);
});

test("the brake says how to let go", async () => {
  const { url } = await scriptedHttp({ "POST /v1/freezes": [{ body: { tenant: "acme", tool: "a.b", reason: "" } }] });
  expect((await cli(["freeze", "--tool", "a.b"], reaching(url))).err).toBe(
    "what runs goes on\nnext:  signalbox unfreeze --tool a.b\n",
  );
  const platform = await scriptedHttp({ "POST /v1/freezes": [{ body: { tenant: "platform", tool: "", reason: "" } }] });
  expect(
    (await cli(["freeze", "--platform"], { env: { SIGNALBOX_URL: platform.url, SIGNALBOX_PLATFORM_KEY: "k" } })).err,
  ).toBe("what runs goes on\nnext:  signalbox unfreeze --platform\n");
});

const times = { created_at: "2026-01-31T11:00:00.000Z", created_by: "user:me" };
const frozen = { tool: "", reason: "incident 7", at: "2026-01-31T11:00:00.000Z", by: "user:me" };
const delivery = {
  delivery_id: "dlv_1",
  webhook_id: "wh_1",
  type: "approval.requested",
  approval_id: "apr_1",
  state: "pending",
  attempts: 2,
  next_at: "2026-01-31T12:00:10.000Z",
  ended_at: null,
  last_status: 500,
  last_error: "server error",
};

test.each([
  [
    ["tools", "pins"],
    "GET /v1/tools:pins",
    [{ tool: "a.b", version: "^1", ...changed }],
    "TOOL  PINNED TO  SINCE    BY\na.b   ^1         1 h ago  user:me\n",
  ],
  [
    ["tools", "history", "a.b"],
    "GET /v1/tools/a.b/activations",
    [{ tool: "a.b", version: "1.0.0", at: "2026-01-31T11:00:00.000Z", by: "user:me" }],
    "VERSION  ACTIVE FROM                        BY\n1.0.0    2026-01-31T11:00:00.000Z  1 h ago  user:me\n",
  ],
  [
    ["tools", "projects"],
    "GET /v1/tools:projects",
    [{ project: "shop", tool: "a.b", enabled: false, ...changed }],
    "PROJECT  TOOL  STATE     SINCE    BY\nshop     a.b   disabled  1 h ago  user:me\n",
  ],
  [
    ["projects", "list"],
    "GET /v1/projects",
    [
      { project: "default", environment: "", created_at: "2026-01-31T11:00:00.000Z" },
      { project: "shop", environment: "production", created_at: "2026-01-31T11:00:00.000Z" },
    ],
    "PROJECT  ENVIRONMENT  CREATED\ndefault  (none)       1 h ago\nshop     production   1 h ago\n",
  ],
  [
    ["freeze", "--list"],
    "GET /v1/freezes",
    [
      { tenant: "platform", ...frozen },
      { tenant: "acme", ...frozen, tool: "a.b" },
    ],
    "FROZEN     OF            SINCE    BY       BECAUSE\n" +
      "all tools  every tenant  1 h ago  user:me  incident 7\n" +
      "a.b        acme          1 h ago  user:me  incident 7\n",
  ],
  [
    ["webhooks", "list"],
    "GET /v1/webhooks",
    [{ webhook_id: "wh_1", url: "https://x.test/hook", types: [], ...times }],
    "WEBHOOK  URL                  NOTICES  CREATED  BY\nwh_1     https://x.test/hook  (all)    1 h ago  user:me\n",
  ],
  [
    ["webhooks", "deliveries", "--webhook", "wh_1", "--state", "pending"],
    "GET /v1/webhooks:deliveries",
    [delivery],
    "DELIVERY  WEBHOOK  NOTICE              APPROVAL  STATE    TRIES  LAST                    NEXT\n" +
      "dlv_1     wh_1     approval.requested  apr_1     pending      2  HTTP 500: server error  in 10 s\n",
  ],
] as const)("signalbox %j is a table", async (args, asked, items, out) => {
  const { url } = await scriptedHttp({ [asked]: page(...items) });
  const ended = await cli(args, reaching(url));
  expect([ended.code, ended.out]).toEqual([0, out]);
});

test("every long list says how to go on", async () => {
  const lists = {
    "GET /v1/tools:pins": ["tools", "pins"],
    "GET /v1/tools:projects": ["tools", "projects"],
    "GET /v1/projects": ["projects", "list"],
    "GET /v1/freezes": ["freeze", "--list"],
    "GET /v1/webhooks": ["webhooks", "list"],
    "GET /v1/webhooks:deliveries": ["webhooks", "deliveries"],
    "GET /v1/policies": ["policies", "list"],
    "GET /v1/policies:defaults": ["policies", "default"],
  };
  const body = { items: [], next_cursor: "c2" };
  const { url, seen } = await scriptedHttp(Object.fromEntries(Object.keys(lists).map((line) => [line, [{ body }]])));
  for (const [line, args] of Object.entries(lists)) {
    const { err } = await cli([...args, "--limit", "5", "--cursor", "c1"], reaching(url));
    expect(err.endsWith("more:  add --cursor c2\n"), line).toBe(true);
    expect(seen.at(-1)?.line).toBe(`${line}?limit=5&cursor=c1`);
  }
});

test("a webhook's secret is printed once", async () => {
  const webhook = { webhook_id: "wh_1", url: "https://x.test/hook", types: ["approval.requested"], ...times };
  const { url, seen } = await scriptedHttp({
    "POST /v1/webhooks": [{ status: 201, body: { ...webhook, secret: "whsec_1" } }],
  });
  const made = await cli(["webhooks", "add", "https://x.test/hook", "--type", "approval.requested"], reaching(url));
  expect(made.out).toBe("webhook  wh_1\nurl      https://x.test/hook\nnotices  approval.requested\nsecret   whsec_1\n");
  expect(made.err).toBe("the secret is shown this once; the receiver checks each delivery's signature with it\n");
  expect(seen[0]?.body).toBe(`{"url":"https://x.test/hook","types":["approval.requested"]}`);
});

test.each([
  [["tools", "pin", "a.b"], "which version?"],
  [["tools", "deprecate", "a.b"], "which version?"],
  [["tools", "quarantine", "a.b"], "required option '--reason <text>' not specified"],
  [["projects", "set", "shop"], "required option '--environment <name>' not specified"],
  [["freeze", "--list", "--tool", "a.b"], "--list freezes nothing, so it takes neither --tool nor --reason"],
  [["webhooks", "deliveries", "--state", "lost"], "Allowed choices are pending, delivered, dead."],
] as const)("%j is a wrong line", async (args, message) => {
  const { code, err } = await cli(args, reaching("http://127.0.0.1:9"));
  expect(code).toBe(2);
  expect(err).toContain(message);
});

test.each([
  ["project_not_found", ["tools", "enable", "a.b"], "POST /v1/tools/a.b/enable", "signalbox projects list"],
  ["webhook_not_found", ["webhooks", "remove", "wh_9"], "DELETE /v1/webhooks/wh_9", "signalbox webhooks list"],
  ["policy_not_found", ["policies", "show", "p"], "GET /v1/policies/p", "signalbox policies list"],
] as const)("%s exits with 4 and says where to look", async (code, args, asked, next) => {
  const body = { error: { code, message: "there is none", retryable: false } };
  const { url } = await scriptedHttp({ [asked]: [{ status: 404, body }] });
  const ended = await cli(args, reaching(url));
  expect([ended.code, ended.err]).toEqual([
    4,
    `error: there is none (${code})\nnext:  ${next}\nrequest: req_scripted\n`,
  ]);
});

test("tools, policies and the brake can be the platform's", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/freezes": [{ body: { tenant: "platform", tool: "", reason: "" } }],
  });
  const env = { SIGNALBOX_URL: url, SIGNALBOX_KEY: "sbx_own", SIGNALBOX_PLATFORM_KEY: "sbx_platform" };
  await cli(["freeze", "--platform"], { env });
  expect(seen[0]?.authorization).toBe("Bearer sbx_platform");
  for (const args of [["tools", "list"], ["tools", "register"], ["policies", "publish"], ["unfreeze"]]) {
    expect((await cli([...args, "--help"])).out).toContain("--platform");
  }
  expect((await cli(["approvals", "list", "--help"])).out).not.toContain("--platform");
});
