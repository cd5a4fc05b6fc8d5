// `signalbox tenants`: what is asked, with whose key, what is printed, and the next step after a refusal.
import { expect, test } from "vitest";
import { cli } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const acme = {
  tenant: "acme",
  weight: 2,
  suspended: false,
  suspended_at: null,
  suspended_by: null,
  suspended_reason: null,
  created_at: "2026-01-31T11:00:00.000Z",
};
const stopped = {
  ...acme,
  suspended: true,
  suspended_at: "2026-01-31T11:58:00.000Z",
  suspended_by: "user:operator",
  suspended_reason: "unpaid",
};
const key = {
  key_id: "key_1",
  label: "first admin key",
  principal: "user:admin",
  project: "default",
  scopes: ["*"],
  roles: [],
  created_at: "2026-01-31T11:00:00.000Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
};

const reaching = (url: string) => ({
  env: { SIGNALBOX_URL: url, SIGNALBOX_KEY: "sbx_own", SIGNALBOX_PLATFORM_KEY: "sbx_operator" },
});

test("are listed with their share and what stops them", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/tenants": [
      {
        body: {
          items: [
            { ...stopped, tenant: "acme" },
            { ...acme, tenant: "beta" },
          ],
          next_cursor: "beta",
        },
      },
    ],
  });
  const listed = await cli(["tenants", "list", "--platform", "--limit", "2"], reaching(url));
  expect(listed).toEqual({
    code: 0,
    out:
      "TENANT  WEIGHT  STATE      CREATED  BECAUSE\n" +
      "acme    2       suspended  1 h ago  unpaid\n" +
      "beta    2       running    1 h ago\n",
    err: "more:  add --cursor beta\n",
  });
  expect(seen.map(({ line, authorization }) => [line, authorization])).toEqual([
    ["GET /v1/tenants?limit=2", "Bearer sbx_operator"],
  ]);
});

test("one is shown with the key at hand, too: its own tenant's administrators may read it", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/tenants/acme": [{ body: acme }, { body: stopped }, { body: acme }],
  });
  expect((await cli(["tenants", "show", "acme"], reaching(url))).out).toBe(
    "tenant   acme\nweight   2\nstate    running\ncreated  2026-01-31T11:00:00.000Z (1 h ago)\n",
  );
  expect((await cli(["tenants", "show", "acme", "--platform"], reaching(url))).out).toBe(
    "tenant   acme\nweight   2\nstate    suspended\nsince    2026-01-31T11:58:00.000Z (2 min ago)\n" +
      "by       user:operator\nbecause  unpaid\ncreated  2026-01-31T11:00:00.000Z (1 h ago)\n",
  );
  expect(JSON.parse((await cli(["tenants", "show", "acme", "--json"], reaching(url))).out)).toEqual(acme);
  expect(seen.map(({ authorization }) => authorization)).toEqual([
    "Bearer sbx_own",
    "Bearer sbx_operator",
    "Bearer sbx_own",
  ]);
});

test("one is made, and the secret of its first key is printed this once", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/tenants": [{ status: 201, body: { ...acme, admin_key: { ...key, secret: "sbx_new" } } }],
  });
  const made = await cli(
    ["tenants", "create", "acme", "--platform", "--weight", "2", "--admin", "user:ann"],
    reaching(url),
  );
  expect(made.out).toBe(
    "tenant     acme\nweight     2\nstate      running\ncreated    2026-01-31T11:00:00.000Z (1 h ago)\n" +
      "key        key_1\nprincipal  user:admin\nsecret     sbx_new\n",
  );
  expect(made.err).toBe("the secret is shown this once; programs read it from SIGNALBOX_KEY\n");
  await cli(["tenants", "create", "acme", "--platform"], reaching(url));
  expect(seen.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { tenant: "acme", weight: 2, admin: { principal: "user:ann" } },
    { tenant: "acme" },
  ]);
});

test.each([
  [["set", "acme", "--weight", "5"], { weight: 5 }, ""],
  [
    ["suspend", "acme", "--reason", "unpaid"],
    { suspended: true, reason: "unpaid" },
    "what runs goes on to its end\nnext:  signalbox tenants resume acme --platform\n",
  ],
  [["resume", "acme"], { suspended: false }, ""],
])("tenants %j changes just that", async (args, body, err) => {
  const { url, seen } = await scriptedHttp({ "PUT /v1/tenants/acme": [{ body: acme }] });
  const ended = await cli(["tenants", ...args, "--platform"], reaching(url));
  expect(ended).toMatchObject({ code: 0, err });
  expect(seen.map((one) => [one.line, JSON.parse(one.body)])).toEqual([["PUT /v1/tenants/acme", body]]);
});

test("a weight that is no count, and a change without its value, are refused here", async () => {
  for (const weight of ["0", "1.5", "many", "-1"])
    expect(
      (await cli(["tenants", "set", "acme", "--weight", weight, "--platform"], reaching("http://x.test"))).err,
    ).toContain(`--weight takes a whole number of at least 1, not "${weight}"`);
  expect((await cli(["tenants", "set", "acme", "--platform"], reaching("http://x.test"))).code).toBe(2);
});

test("keys of a tenant are made, listed and ended by the operator", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/tenants/acme/keys": [{ status: 201, body: { ...key, secret: "sbx_new" } }],
    "GET /v1/tenants/acme/keys": [{ body: { items: [key], next_cursor: null } }],
    "DELETE /v1/tenants/acme/keys/key_1": [{ body: key }],
  });
  const making = ["--label", "rescue", "--principal", "user:ann", "--scope", "*", "--expires", "1d"];
  const made = await cli(["tenants", "keys", "create", "acme", ...making, "--platform"], reaching(url));
  expect(made.out).toContain("secret     sbx_new\n");
  const listed = await cli(["tenants", "keys", "list", "acme", "--status", "active", "--platform"], reaching(url));
  expect(listed.out).toBe(
    "KEY    LABEL            PRINCIPAL   PROJECT  SCOPES  LIFE    USED\n" +
      "key_1  first admin key  user:admin  default  *       no end  never\n",
  );
  const ended = await cli(["tenants", "keys", "revoke", "acme", "key_1", "--platform"], reaching(url));
  expect(ended.out).toBe("key_1 (first admin key) of acme is revoked\n");
  expect(seen.map(({ line }) => line)).toEqual([
    "POST /v1/tenants/acme/keys",
    "GET /v1/tenants/acme/keys?status=active",
    "DELETE /v1/tenants/acme/keys/key_1",
  ]);
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
    label: "rescue",
    principal: "user:ann",
    scopes: ["*"],
    expires_at: "2026-02-01T12:00:00.000Z",
  });
});

test.each([
  ["operator_only", "speak as the platform's operator: add --platform"],
  ["tenant_suspended", "whoever runs the runtime can resume it: signalbox tenants resume <tenant> --platform"],
])("a refusal with the reason %s says what to do", async (reason, next) => {
  const error = { code: "forbidden", message: "no", retryable: false, details: { reason } };
  const { url } = await scriptedHttp({ "PUT /v1/tenants/acme": [{ status: 403, body: { error } }] });
  const ended = await cli(["tenants", "resume", "acme"], reaching(url));
  expect(ended.code).not.toBe(0);
  expect(ended.err).toContain(`next:  ${next}`);
});

test("list of keys is narrowed and paged", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/keys": [{ body: { items: [key], next_cursor: "key_1" } }] });
  const listed = await cli(
    ["keys", "list", "--principal", "user:admin", "--project", "web", "--limit", "1"],
    reaching(url),
  );
  expect(listed.err).toBe("more:  add --cursor key_1\n");
  expect(seen.map(({ line }) => line)).toEqual(["GET /v1/keys?principal=user%3Aadmin&project=web&limit=1"]);
});
