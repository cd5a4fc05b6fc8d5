// Tools, keys, grants, audit, workers and status: what is asked, what is printed, and the exit codes.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { cli, reaching } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const status = {
  version: "0.1.0",
  replica: "r1",
  started_at: "2026-01-31T11:00:00.000Z",
  ready: true,
  draining: false,
  reasons: [],
  calls: { queued: 2, running: 1 },
  workers: 3,
};

test("status tells what is going on, and exits with 5 when the runtime cannot serve", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/status": [{ body: status }, { body: { ...status, ready: false, reasons: ["the ledger cannot write"] } }],
  });
  expect(await cli(["status"], reaching(url))).toEqual({
    code: 0,
    out: "ready       yes\nversion     0.1.0\nreplica     r1\nstarted     2026-01-31T11:00:00.000Z (1 h ago)\nopen calls  2 queued, 1 running\nworkers     3\n",
    err: "",
  });
  const broken = await cli(["status"], reaching(url));
  expect(broken.code).toBe(5);
  expect(broken.out).toContain("ready       no\nbecause     the ledger cannot write\n");
});

test("workers are listed with their load and tools", async () => {
  const worker = {
    worker_id: "wrk_1",
    incarnation: "inc_1",
    state: "ready",
    capacity: 16,
    holding: 2,
    handlers: [{ tool: "a.b", version: "1.0.0", max_concurrency: 16 }],
    boxes: ["native", "wasm"],
    connected_at: "2026-01-31T11:00:00.000Z",
    last_heard_at: "2026-01-31T11:59:57.000Z",
  };
  const { url } = await scriptedHttp({ "GET /v1/workers": [{ body: { items: [worker], next_cursor: null } }] });
  expect((await cli(["workers", "list"], reaching(url))).out).toBe(
    "WORKER  STATE  LOAD  HEARD    TOOLS\nwrk_1   ready  2/16  3 s ago  a.b@1.0.0, boxes: native, boxes: wasm\n",
  );
});

const tool = {
  tool: "a.b",
  active_version: "1.0.0",
  description: "Does a thing.",
  side_effect_class: "read_only",
  executor: "worker",
  owned_by: "default",
  created_at: "2026-01-31T11:00:00.000Z",
};

test("tools are listed, shown and activated", async () => {
  const version = {
    tool: "a.b",
    version: "1.0.0",
    owner: "me",
    description: "Does a thing.",
    trust: "first_party",
    status: "active",
    manifest_digest: "d1",
    published_at: "2026-01-31T11:00:00.000Z",
    published_by: "user:me",
    spec: {
      executor: { type: "worker" },
      input: { type: "object" },
      side_effect_class: "read_only",
      permissions: [],
      timeout_ms: 30_000,
      on_indeterminate: "ask",
    },
  };
  const { url, seen } = await scriptedHttp({
    "GET /v1/tools": [{ body: { items: [tool], next_cursor: null } }],
    "GET /v1/tools/a.b": [{ body: { ...tool, versions: ["1.0.0"], workers: 1, version } }],
    "POST /v1/tools/a.b/activate": [{ body: tool }],
  });
  expect((await cli(["tools", "list"], reaching(url))).out).toBe(
    "TOOL  ACTIVE  CLASS      EXECUTOR  DESCRIPTION\na.b   1.0.0   read_only  worker    Does a thing.\n",
  );
  expect((await cli(["tools", "show", "a.b@1.0.0"], reaching(url))).out).toBe(
    `a.b@1.0.0  Does a thing.

active       1.0.0
versions     1.0.0
owner        me
class        read_only
executor     worker
workers      1
permissions  none
timeout      30 s
unknown end  a person is asked
trust        first_party
status       active
published    2026-01-31T11:00:00.000Z (1 h ago) by user:me
manifest     sha256 d1

input
{
  "type": "object"
}
`,
  );
  expect((await cli(["tools", "activate", "a.b", "1.0.0"], reaching(url))).out).toBe("a.b@1.0.0 is active\n");
  expect(seen.map(({ line, body }) => `${line} ${body}`)).toEqual([
    "GET /v1/tools ",
    "GET /v1/tools/a.b?version=1.0.0 ",
    `POST /v1/tools/a.b/activate {"version":"1.0.0"}`,
  ]);
  expect((await cli(["tools", "activate", "a.b"], reaching(url))).code).toBe(2);
});

test("register sends every manifest below a folder with its schema files, and goes on after a refusal", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-register-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of ["one", "two", "node_modules"]) await mkdir(join(folder, name));
  await writeFile(join(folder, "one", "tool.yaml"), "kind: Tool\nspec:\n  input: {file: in.json}\n");
  await writeFile(join(folder, "one", "in.json"), `{"type":"object"}`);
  await writeFile(join(folder, "two", "tool.yaml"), "kind: Tool\n");
  await writeFile(join(folder, "node_modules", "tool.yaml"), "kind: Tool\n");
  const registered = {
    tool: "two",
    version: "1.0.0",
    active: true,
    already_there: false,
    warnings: ["side_effect_class is not set"],
  };
  const refused = { error: { code: "invalid_input", message: "metadata is required", retryable: false } };
  const { url, seen } = await scriptedHttp({
    "PUT /v1/tools": [
      { status: 400, body: refused },
      { status: 201, body: registered },
    ],
  });
  const ended = await cli(["tools", "register", ".", "--activate"], { ...reaching(url), cwd: folder });
  expect(ended.code).toBe(1);
  expect(ended.out).toBe("two@1.0.0 is registered, active\n");
  expect(ended.err).toContain("one/tool.yaml\nerror: metadata is required (invalid_input)\n");
  expect(ended.err).toContain("warning: two/tool.yaml: side_effect_class is not set\n");
  expect(seen.map(({ line, body }) => `${line} ${body}`)).toEqual([
    `PUT /v1/tools?activate=true {"kind":"Tool","spec":{"input":{"type":"object"}}}`,
    `PUT /v1/tools?activate=true {"kind":"Tool"}`,
  ]);
});

test("register refuses a file that is no YAML without asking anybody", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-register-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "tool.yaml"), "kind: Tool\nkind: Tool\n");
  const { code, err } = await cli(["tools", "register", "tool.yaml"], {
    ...reaching("http://127.0.0.1:9"),
    cwd: folder,
  });
  expect(code).toBe(1);
  expect(err).toBe(
    `tool.yaml\nerror: line 2: the key "kind" stands there twice\nnext:  signalbox validate tool.yaml\n`,
  );
  expect((await cli(["tools", "register", "none"], { ...reaching("http://127.0.0.1:9"), cwd: folder })).code).toBe(2);
});

const key = {
  key_id: "key_1",
  label: "ci",
  principal: "service:ci",
  project: "default",
  scopes: ["tools:invoke", "calls:read"],
  roles: [],
  created_at: "2026-01-31T11:00:00.000Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: "2026-01-31T10:00:00.000Z",
};

test("a key is made, listed and revoked", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/keys": [{ status: 201, body: { ...key, secret: "sbx_new" } }],
    "GET /v1/keys": [{ body: { items: [key], next_cursor: null } }],
    "DELETE /v1/keys/key_1": [{ body: { ...key, revoked_at: "2026-01-31T12:00:00.000Z" } }],
  });
  const made = await cli(
    [
      "keys",
      "create",
      "--label",
      "ci",
      "--principal",
      "service:ci",
      "--scope",
      "tools:invoke",
      "calls:read",
      "--expires",
      "7d",
    ],
    reaching(url),
  );
  expect(made.out).toBe(
    "key        key_1\nprincipal  service:ci\nscopes     tools:invoke calls:read\nsecret     sbx_new\n",
  );
  expect(made.err).toBe("the secret is shown this once; programs read it from SIGNALBOX_KEY\n");
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
    label: "ci",
    principal: "service:ci",
    scopes: ["tools:invoke", "calls:read"],
    expires_at: "2026-02-07T12:00:00.000Z",
  });
  expect((await cli(["keys", "list"], reaching(url))).out).toBe(
    "KEY    LABEL  PRINCIPAL   PROJECT  SCOPES                   LIFE    USED\nkey_1  ci     service:ci  default  tools:invoke calls:read  no end  2 h ago\n",
  );
  expect((await cli(["keys", "revoke", "key_1"], reaching(url))).out).toBe("key_1 (ci) is revoked\n");
  expect((await cli(["keys", "create", "--label", "x"], reaching(url))).code).toBe(2);
});

test("a lost local key is replaced only when that was said", async () => {
  const folders: string[] = [];
  const compose = {
    resetLocalKey: async (dataDir: string) => {
      folders.push(dataDir);
      return { keyFile: `${dataDir}/client.json` };
    },
  };
  expect((await cli(["keys", "reset"], { compose })).code).toBe(2);
  expect(await cli(["keys", "reset", "--local", "--data", "data"], { compose, cwd: "/srv" })).toEqual({
    code: 0,
    out: "a new admin key is in /srv/data/client.json\n",
    err: "next:  signalbox dev\n",
  });
  expect(folders).toEqual(["/srv/data"]);
});

test("a grant is made, listed and revoked", async () => {
  const grant = {
    grant_id: "grant_1",
    subject: "service:ci",
    project: "",
    permissions: ["tool:invoke:a.*"],
    roles: [],
    created_at: "2026-01-31T11:00:00.000Z",
    created_by: "user:me",
    expires_at: "2026-01-31T14:00:00.000Z",
    revoked_at: null,
  };
  const { url, seen } = await scriptedHttp({
    "POST /v1/grants": [{ status: 201, body: grant }],
    "GET /v1/grants": [{ body: { items: [grant], next_cursor: null } }],
    "DELETE /v1/grants/grant_1": [{ body: grant }],
  });
  expect(
    (await cli(["grants", "create", "--subject", "service:ci", "--permission", "tool:invoke:a.*"], reaching(url))).out,
  ).toBe("grant_1: service:ci has tool:invoke:a.*\n");
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ subject: "service:ci", permissions: ["tool:invoke:a.*"] });
  expect((await cli(["grants", "list"], reaching(url))).out).toBe(
    "GRANT    SUBJECT     PROJECT  PERMISSIONS      LIFE\ngrant_1  service:ci  (all)    tool:invoke:a.*  expires in 2 h\n",
  );
  expect((await cli(["grants", "revoke", "grant_1"], reaching(url))).out).toBe("grant_1 is revoked\n");
});

test("roles are told where there are any", async () => {
  const ofFinance = { ...key, key_id: "key_2", label: "fay", principal: "user:fay", roles: ["finance", "editors"], last_used_at: null };
  const grant = { grant_id: "grant_2", subject: "user:fay", project: "", permissions: ["a:b:c"], roles: ["finance"] };
  const { url } = await scriptedHttp({
    "POST /v1/keys": [{ status: 201, body: { ...ofFinance, secret: "sbx_new" } }],
    "GET /v1/keys": [{ body: { items: [key, ofFinance], next_cursor: null } }],
    "POST /v1/grants": [{ status: 201, body: { ...grant, expires_at: null, revoked_at: null } }],
  });
  const made = ["keys", "create", "--label", "fay", "--principal", "user:fay", "--scope", "approvals:decide"];
  expect((await cli([...made, "--role", "finance", "editors"], reaching(url))).out).toContain(
    "\nroles      finance editors\nsecret ",
  );
  expect((await cli(["keys", "list"], reaching(url))).out).toBe(
    "KEY    LABEL  PRINCIPAL   PROJECT  SCOPES                   ROLES            LIFE    USED\n" +
      "key_1  ci     service:ci  default  tools:invoke calls:read                   no end  2 h ago\n" +
      "key_2  fay    user:fay    default  tools:invoke calls:read  finance editors  no end  never\n",
  );
  const granted = ["grants", "create", "--subject", "user:fay", "--permission", "a:b:c", "--role", "finance"];
  expect((await cli(granted, reaching(url))).out).toBe("grant_2: user:fay has a:b:c, and the role finance\n");
});

test("audit records are listed", async () => {
  const record = {
    lane: "r1",
    seq: 7,
    ts: "2026-01-31T11:00:00.000Z",
    tenant: "default",
    project: "default",
    principal: "service:ci",
    action: "call.settled",
    tool: "a.b",
    execution_id: "exec_1",
    status: "succeeded",
    prev_hash: "0",
    hash: "1",
  };
  const { url, seen } = await scriptedHttp({ "GET /v1/audit": [{ body: { items: [record], next_cursor: null } }] });
  expect((await cli(["audit", "list", "--call", "exec_1", "--action", "call.settled"], reaching(url))).out).toBe(
    "TIME                      ACTION        PRINCIPAL   TOOL  RESULT     CALL    SEQ\n2026-01-31T11:00:00.000Z  call.settled  service:ci  a.b   succeeded  exec_1  r1#7\n",
  );
  expect(seen[0]?.line).toBe("GET /v1/audit?action=call.settled&execution_id=exec_1");
});

const cutTail = {
  tenant: "default",
  lane: "r1",
  seq: 9,
  kind: "cut_tail" as const,
  message: "records are missing at the end",
};

test("verify asks the runtime, or with --local the data folder, and exits with 1 when the chain does not hold", async () => {
  const { url } = await scriptedHttp({
    "POST /v1/audit:verify": [{ body: { ok: true, records: 12, lanes: 1, problems: [] } }],
  });
  expect(await cli(["audit", "verify"], reaching(url))).toEqual({
    code: 0,
    out: "the chain holds: 12 records in 1 lane\n",
    err: "",
  });
  const compose = { verifyLocal: async () => ({ ok: false, records: 8, lanes: 2, problems: [cutTail] }) };
  const local = await cli(["audit", "verify", "--local"], { compose });
  expect(local.code).toBe(1);
  expect(local.out).toBe(
    "the chain does not hold: 8 records in 2 lanes\n  default/r1#9 cut_tail: records are missing at the end\n",
  );
  const held = { verifyLocal: () => Promise.reject(new LedgerUnavailable("another process has the ledger open")) };
  const busy = await cli(["audit", "verify", "--local"], { compose: held });
  expect(busy.code).toBe(5);
  expect(busy.err).toContain("error: another process has the ledger open (ledger_unavailable)\n");
  const json = await cli(["audit", "verify", "--local", "--json"], { compose });
  expect(JSON.parse(json.out)).toEqual({ ok: false, records: 8, lanes: 2, problems: [cutTail] });
});
