// `signalbox approvals`: the list, one question as its decider sees it, votes, and what is watched.
import { expect, test } from "vitest";
import { cli, reaching, startCli } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const hash = "ab".repeat(32);
const rule = {
  policy: "payments-need-a-person",
  version: "1.0.0",
  level: "tenant",
  outcome: "require_approval",
  reason: "Payments above 1000 need a person",
  observed: false,
};

const asked = {
  approval_id: "apr_1",
  status: "pending",
  kind: "call",
  execution_id: "exec_1",
  session_id: null,
  project: "shop",
  tool: "payments.charge",
  version: "1.2.0",
  requester: "agent:cashier",
  on_behalf_of: "user:ann",
  reason: "Payments above 1000 need a person",
  routes: [{ route: "finance", quorum: 2 }],
  distinct_from_requester: true,
  comprehension: false,
  on_timeout: "escalate",
  on_reject: "return_to_agent",
  escalate_to: "finance-lead",
  depth: 0,
  escalated_from: null,
  escalated_to: null,
  args_hash: hash,
  edited: false,
  opened_at: "2026-01-31T11:55:00.000Z",
  expires_at: "2026-02-01T11:55:00.000Z",
  closed_at: null,
  closed_by: null,
  outcome: null,
};

const bobs = {
  voter: "user:bob",
  decision: "approve",
  args_hash: hash,
  comment: "looks right",
  edited: false,
  comprehended: false,
  at: "2026-01-31T11:58:00.000Z",
  late: false,
};

interface Given {
  readonly argsText?: string;
  readonly voters?: readonly string[];
  readonly [field: string]: unknown;
}

/** The text of one approval's answer, so that numbers in its arguments are text of our choosing. */
function detail({
  argsText = `{"amount":12345678901234567890,"rate":1.10}`,
  voters = [],
  ...given
}: Given = {}): string {
  const body = {
    ...asked,
    routes: [{ route: "finance", quorum: 2, voters }],
    votes: [],
    policy: { decision: "require_approval", reason: asked.reason, rules: [rule] },
    may_not_vote: null,
    execution: { execution_id: "exec_1", status: "awaiting_approval" },
    ...given,
  };
  return `${JSON.stringify(body).slice(0, -1)},"args":${argsText}}`;
}

test("list shows what is pending, who is asked and until when", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/approvals": [{ body: { items: [asked], next_cursor: "c2" } }] });
  expect(await cli(["approvals", "list", "--mine", "--tool", "payments.charge"], reaching(url))).toEqual({
    code: 0,
    out:
      "APPROVAL  STATUS   ABOUT                  REQUESTER      ASKS          EXPIRES         BECAUSE\n" +
      "apr_1     pending  payments.charge@1.2.0  agent:cashier  2 of finance  in 23 h 55 min  Payments above 1000 need a person\n",
    err: "next:  signalbox approvals show apr_1\nmore:  add --cursor c2\n",
  });
  await cli(["approvals", "list", "--all", "--requester", "user:ann", "--limit", "5"], reaching(url));
  await cli(["approvals", "list", "--status", "expired", "--project", "shop"], reaching(url));
  expect(seen.map(({ line }) => line)).toEqual([
    "GET /v1/approvals?mine=true&tool=payments.charge&status=pending",
    "GET /v1/approvals?requester=user%3Aann&limit=5",
    "GET /v1/approvals?project=shop&status=expired",
  ]);
});

test("an empty list says so", async () => {
  const { url } = await scriptedHttp({ "GET /v1/approvals": [{ body: { items: [], next_cursor: null } }] });
  const { out, err } = await cli(["approvals", "list"], reaching(url));
  expect(out).toBe("APPROVAL  STATUS  ABOUT  REQUESTER  ASKS  EXPIRES  BECAUSE\n");
  expect(err).toBe("nothing waits for a decision\n");
});

const story = `apr_1  payments.charge@1.2.0  pending

asked by  agent:cashier for user:ann
project   shop
because   Payments above 1000 need a person
call      exec_1
opened    2026-01-31T11:55:00.000Z (5 min ago)
expires   2026-02-01T11:55:00.000Z (in 23 h 55 min); then finance-lead is asked
hash      ${hash}

arguments
  {
    "amount": 12345678901234567890,
    "rate": 1.10
  }

who decides
  finance  1/2  user:bob
  none of them the requester

why
  POLICY                        LEVEL   SAYS              BECAUSE
  payments-need-a-person@1.0.0  tenant  require_approval  Payments above 1000 need a person

votes
  VOTER     SAID     AT                        COMMENT
  user:bob  approve  2026-01-31T11:58:00.000Z  looks right
`;

const next = `
next
  yes                        signalbox approvals approve apr_1 --args-hash ${hash}
  yes, with other arguments  signalbox approvals approve apr_1 --args-hash ${hash} --args '<json>'
  no                         signalbox approvals reject apr_1 --args-hash ${hash} --comment '<why>'
`;

test("of an unknown end, yes and no are told as what they do", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail({ kind: "resolve", on_timeout: "deny", escalate_to: null }) }],
  });
  const { out } = await cli(["approvals", "show", "apr_1"], reaching(url));
  expect(out).toContain("apr_1  how payments.charge@1.2.0 ended  pending\n");
  expect(out).toContain("(in 23 h 55 min); then its end stays unknown\n");
  expect(out.slice(out.indexOf("\nnext\n"))).toBe(`
next
  it did not happen: run it again  signalbox approvals approve apr_1 --args-hash ${hash}
  give it up: it failed            signalbox approvals reject apr_1 --args-hash ${hash} --comment '<why>'
  it happened                      signalbox calls resolve exec_1 confirm --output '<json>'
`);
});

test("show tells what is asked, why, who decides, how far it is, and what to type", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail({ votes: [bobs], voters: ["user:bob"] }) }],
  });
  expect(await cli(["approvals", "show", "apr_1"], reaching(url))).toEqual({ code: 0, out: story + next, err: "" });
  const json = await cli(["approvals", "show", "apr_1", "--json"], reaching(url));
  expect(json.out.replace(/\s/g, "")).toBe(detail({ votes: [bobs], voters: ["user:bob"] }).replace(/\s/g, ""));
});

test("who has no vote is told why, and gets no command to cast one", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [
      { body: detail({ may_not_vote: "a vote here needs the role finance", comprehension: true, edited: true }) },
    ],
  });
  const { out } = await cli(["approvals", "show", "apr_1"], reaching(url));
  expect(out).toContain("edited    a person changed the arguments; those below are the new ones\n");
  expect(out).toContain("  an approval must say that its voter understood it: --comprehended\n");
  expect(out).toContain("  not you: a vote here needs the role finance\n");
  expect(out.endsWith("\nnext\n  signalbox approvals show apr_1 --watch\n")).toBe(true);
});

test("a closed one tells its end, and where it went on", async () => {
  const closed = { status: "escalated", outcome: "escalated", closed_by: "runtime", escalated_to: "apr_2" };
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail({ ...closed, closed_at: "2026-01-31T11:59:00.000Z" }) }],
  });
  const { out } = await cli(["approvals", "show", "apr_1"], reaching(url));
  expect(out).toContain("ended     nobody decided in time; apr_2 asks on; the call is awaiting_approval\n");
  expect(out).toContain("closed    2026-01-31T11:59:00.000Z (1 min ago)\n");
  expect(out).not.toContain("expires");
  expect(out.endsWith("\nnext\n  signalbox approvals show apr_2\n")).toBe(true);
});

test("what is shown cannot steer the terminal", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail({ argsText: `{"a":"\\u001b[2J\\u202e"}`, reason: "\u001b[31mred" }) }],
  });
  const { out } = await cli(["approvals", "show", "apr_1"], reaching(url));
  expect(out).not.toContain("\u001b");
  expect(out).not.toContain("\u202e");
  expect(out).toContain(`"a": "\\u001b[2J\\u202e"`);
});

const vote = "POST /v1/approvals/apr_1/votes";

test("approve shows what is asked, votes on exactly that, and says how far it is", async () => {
  const after = { said: "counted", voters: ["user:me"] };
  const { url, seen } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail({ votes: [bobs], voters: ["user:bob"] }) }],
    [vote]: [{ body: detail(after) }],
  });
  expect(await cli(["approvals", "approve", "apr_1", "--comment", "fine"], reaching(url))).toEqual({
    code: 0,
    out: `${story}\napproved: 1 of 2\n`,
    err: "the others still have to say: signalbox approvals show apr_1 --watch\n",
  });
  expect(seen.map(({ line, body }) => `${line} ${body}`)).toEqual([
    "GET /v1/approvals/apr_1 ",
    `${vote} {"decision":"approve","comment":"fine","args_hash":"${hash}"}`,
  ]);
});

test("with the hash nothing is read first; other arguments travel digit for digit", async () => {
  const closed = { status: "approved", outcome: "approved", closed_by: "user:me", edited: true, said: "counted" };
  const { url, seen } = await scriptedHttp({
    [vote]: [{ body: detail({ ...closed, execution: { execution_id: "exec_1", status: "queued" } }) }],
  });
  const args = ["--args-hash", hash, "--args", `{"amount":98765432109876543210}`, "--comprehended"];
  expect(await cli(["approvals", "approve", "apr_1", ...args], reaching(url))).toEqual({
    code: 0,
    out: "approved with other arguments, the call is queued\n",
    err: "next:  signalbox calls show exec_1\n",
  });
  expect(seen.map(({ body }) => body)).toEqual([
    `{"decision":"approve","comprehended":true,"args_hash":"${hash}","args":{"amount":98765432109876543210}}`,
  ]);
});

test.each([
  [{ said: "repeated", voters: ["user:me"] }, "approved: 1 of 2 (you had said so before)\n"],
  [
    { said: "stored_outcome", status: "approved", outcome: "approved", closed_by: "user:bob" },
    "it was closed before: approved by user:bob, the call is awaiting_approval\n",
  ],
  [
    {
      said: "counted",
      routes: [
        { route: "finance", quorum: 2, voters: ["user:me"] },
        { route: "", quorum: 1, voters: ["user:me"] },
      ],
    },
    "approved: finance 1 of 2, anybody 1 of 1\n",
  ],
])("a vote of %j is told as it is", async (given, said) => {
  const { url } = await scriptedHttp({ [vote]: [{ body: detail(given) }] });
  const { code, out } = await cli(["approvals", "approve", "apr_1", "--args-hash", hash], reaching(url));
  expect([code, out]).toEqual([0, said]);
});

test("reject tells its reason, and what became of the call", async () => {
  const closed = { status: "rejected", outcome: "rejected", closed_by: "user:me", said: "counted" };
  const { url, seen } = await scriptedHttp({
    [vote]: [{ body: detail({ ...closed, execution: { execution_id: "exec_1", status: "denied" } }) }],
  });
  const { out } = await cli(
    ["approvals", "reject", "apr_1", "--args-hash", hash, "--comment", "too much"],
    reaching(url),
  );
  expect(out).toBe("rejected, the call is denied\n");
  expect(seen[0]?.body).toBe(`{"decision":"reject","comment":"too much","args_hash":"${hash}"}`);
});

test("an approval that asks for understanding is not approved without the word for it", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/approvals/apr_1": [{ body: detail({ comprehension: true }) }] });
  const { code, err } = await cli(["approvals", "approve", "apr_1"], reaching(url));
  expect(code).toBe(2);
  expect(err).toBe(
    "error: this approval asks its voter to say that they have understood what it allows\n" +
      `next:  read it, then: signalbox approvals approve apr_1 --args-hash ${hash} --comprehended\n`,
  );
  expect(seen).toHaveLength(1);
});

test("with --json a vote prints its answer and nothing else", async () => {
  const answer = detail({ said: "counted", voters: ["user:me"] });
  const { url } = await scriptedHttp({ "GET /v1/approvals/apr_1": [{ body: detail() }], [vote]: [{ body: answer }] });
  const { out, err } = await cli(["approvals", "approve", "apr_1", "--json"], reaching(url));
  expect([out.replace(/\s/g, ""), err]).toEqual([answer.replace(/\s/g, ""), ""]);
});

test.each([
  [404, "approval_not_found", {}, 4, "see which there are: signalbox approvals list --all"],
  [409, "conflict", { reason: "args_changed", args_hash: "cd" }, 1, "signalbox approvals show apr_1"],
  [409, "approval_closed", { outcome: "expired" }, 1, "signalbox approvals show apr_1"],
  [403, "forbidden", { reason: "missing_role", roles: ["finance"] }, 3, "signalbox approvals show apr_1"],
  [
    403,
    "forbidden",
    { reason: "edit_denied", policy: "euros@1.0.0" },
    3,
    "nothing has changed, and the question is still open: signalbox approvals show apr_1",
  ],
  [
    403,
    "forbidden",
    { reason: "missing_scope", missing_scope: "approvals:decide" },
    3,
    "ask an administrator for a key with that scope: signalbox keys create",
  ],
  [403, "forbidden", {}, 3, "ask an administrator for the permission named above: signalbox grants create"],
])("HTTP %i %s with %j exits non-zero and says what to do", async (status, code, details, exitCode, step) => {
  const body = { error: { code, message: "because", retryable: false, details } };
  const { url } = await scriptedHttp({ [vote]: [{ status, body }] });
  const ended = await cli(["approvals", "approve", "apr_1", "--args-hash", hash], reaching(url));
  expect(ended.code).toBe(exitCode);
  expect(ended.err).toContain(`error: because (${code})\nnext:  ${step}\n`);
});

test("show --watch prints what is new and ends when it is decided", async () => {
  const other = "cd".repeat(32);
  const changed = { args_hash: other, argsText: `{"amount":900}`, edited: true };
  const zoes = {
    ...bobs,
    voter: "user:zoe",
    args_hash: other,
    edited: true,
    at: "2026-01-31T11:59:00.000Z",
    comment: "",
  };
  const closed = {
    ...changed,
    status: "approved",
    outcome: "approved",
    closed_by: "user:bob",
    closed_at: "2026-01-31T12:00:00.000Z",
    execution: { execution_id: "exec_1", status: "queued" },
  };
  const last = { ...bobs, args_hash: other, at: "2026-01-31T12:00:00.000Z", comment: "" };
  const { url, seen } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [
      { body: detail({ votes: [bobs], voters: ["user:bob"] }) },
      { body: detail({ votes: [bobs], voters: ["user:bob"] }) },
      { body: detail({ ...changed, votes: [bobs, zoes], voters: ["user:zoe"] }) },
      { body: detail({ ...closed, votes: [bobs, zoes, last], voters: ["user:zoe", "user:bob"] }) },
    ],
  });
  expect(await cli(["approvals", "show", "apr_1", "--watch"], reaching(url))).toEqual({
    code: 0,
    out: `${story}${next}2026-01-31T11:59:00.000Z  user:zoe  approve (with other arguments)  1/2
the arguments are changed; votes on the old ones do not count any more
  {
    "amount": 900
  }
2026-01-31T12:00:00.000Z  user:bob  approve  2/2
2026-01-31T12:00:00.000Z  approved by user:bob; the call is queued
`,
    err: "",
  });
  expect(seen).toHaveLength(4);
});

test("show --watch --json is one line for each change", async () => {
  const closed = { status: "expired", outcome: "expired", closed_by: "runtime" };
  const { url } = await scriptedHttp({
    "GET /v1/approvals/apr_1": [{ body: detail() }, { body: detail() }, { body: detail(closed) }],
  });
  const { out } = await cli(["approvals", "show", "apr_1", "--watch", "--json"], reaching(url));
  expect(out).toBe(`${detail()}\n${detail(closed)}\n`);
});

test("a watch outlives a runtime that is away, and says so once", async () => {
  const away = { status: 503, body: { error: { code: "draining", message: "stopping", retryable: true } } };
  const closed = { status: "cancelled", outcome: "cancelled", closed_by: "user:ann" };
  const { url } = await scriptedHttp({
    // The client itself asks three times.
    "GET /v1/approvals/apr_1": [{ body: detail() }, away, away, away, away, away, away, { body: detail(closed) }],
  });
  const { code, err } = await cli(["approvals", "show", "apr_1", "--watch"], reaching(url));
  expect([code, err]).toEqual([0, "warning: stopping; trying again\n"]);
});

test("a watch of what is not there fails at once", async () => {
  const body = { error: { code: "approval_not_found", message: "no such approval", retryable: false } };
  const { url, seen } = await scriptedHttp({ "GET /v1/approvals/apr_9": [{ status: 404, body }] });
  expect((await cli(["approvals", "show", "apr_9", "--watch"], reaching(url))).code).toBe(4);
  expect(seen).toHaveLength(1);
});

test("list --watch prints what comes, what is edited and what is decided, until Ctrl-C", async () => {
  let done = (): void => {};
  const told = new Promise<void>((resolve) => (done = resolve));
  const later = {
    ...asked,
    approval_id: "apr_2",
    opened_at: "2026-01-31T11:59:00.000Z",
    tool: "mail.send",
    version: "1.0.0",
  };
  const page = (...items: readonly object[]) => ({ body: { items, next_cursor: null } });
  const { url, seen } = await scriptedHttp({
    "GET /v1/approvals": [page(later, asked), page(later, { ...asked, args_hash: "cd", edited: true }), page(later)],
    "GET /v1/approvals/apr_1": [{ body: detail({ status: "rejected", outcome: "rejected", closed_by: "user:bob" }) }],
  });
  const onOut = (text: string): void => {
    if (text.includes("rejected by")) done();
  };
  const run = startCli(["approvals", "list", "--watch"], { ...reaching(url), onOut });
  await told;
  run.signal("SIGINT");
  expect(await run.ended).toBe(0);
  const line = "2 of finance, expires in 23 h 55 min: Payments above 1000 need a person";
  expect(run.out()).toBe(
    `apr_1  pending    payments.charge@1.2.0 for agent:cashier  ${line}\n` +
      `apr_2  pending    mail.send@1.0.0 for agent:cashier  ${line}\n` +
      `apr_1  edited     payments.charge@1.2.0 for agent:cashier  ${line}\n` +
      "apr_1  rejected   payments.charge@1.2.0 for agent:cashier  rejected by user:bob\n",
  );
  expect(run.err()).toBe("");
  expect(seen[0]?.line).toBe("GET /v1/approvals?status=pending&limit=100");
});

test("list --watch --json is one line for each, and a terminal has one table that fits it", async () => {
  const page = { body: { items: [asked], next_cursor: null } };
  for (const [flags, around, expected] of [
    [["--json"], {}, `${JSON.stringify(asked)}\n`],
    [
      [],
      { isTTY: true, columns: 90 },
      "\u001b[?7lAPPROVAL  STATUS   ABOUT             REQUESTER      ASKS          EXPIRES         BECAUSE\u001b[K\n" +
        "apr_1     pending  payments.charge…  agent:cashier  2 of finance  in 23 h 55 min  Payment…\u001b[K\n" +
        "\u001b[J\u001b[?7h",
    ],
  ] as const) {
    let done = (): void => {};
    const told = new Promise<void>((resolve) => (done = resolve));
    const { url } = await scriptedHttp({ "GET /v1/approvals": [page] });
    const env = { ...reaching(url).env, NO_COLOR: "1" };
    const run = startCli(["approvals", "list", "--watch", ...flags], { env, ...around, onOut: () => done() });
    await told;
    run.signal("SIGINT");
    expect(await run.ended).toBe(0);
    expect(run.out()).toBe(expected);
  }
});

test.each([
  [["list", "--all", "--status", "pending"], "--all and --status contradict each other"],
  [["list", "--interval", "5s"], "--interval goes with --watch"],
  [["show", "apr_1", "--interval", "5s"], "--interval goes with --watch"],
  [["list", "--watch", "--interval", "5ms"], `--interval takes a duration of at least 100ms, like 5s, not "5ms"`],
  [["list", "--watch", "--limit", "5"], "--watch follows the whole list, so it takes neither --limit nor --cursor"],
])("approvals %j is a wrong line", async (args, message) => {
  const { code, err } = await cli(["approvals", ...args], reaching("http://127.0.0.1:9"));
  expect(code).toBe(2);
  expect(err).toContain(`error: ${message}\n`);
});
