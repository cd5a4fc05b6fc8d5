// The routes about approvals: what people see of a question, and how their word reaches the runtime.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import {
  scriptedApproval,
  scriptedApprovalDetail,
  scriptedApprovalId,
  scriptedVote,
} from "../../../../../../test/support/scripted-governance.ts";
import { scriptedCallId } from "../../../../../../test/support/scripted-service.ts";

const shown = {
  approval_id: "apr_01KDY7MFG80000000000000000",
  status: "pending",
  kind: "call",
  execution_id: "exec_01KDY7MFG80000000000000000",
  session_id: null,
  project: "default",
  tool: "echo",
  version: "1.2.0",
  requester: "user:vic",
  on_behalf_of: "",
  reason: "Payments above 1000 need a person",
  routes: [{ route: "finance", quorum: 2 }],
  distinct_from_requester: true,
  comprehension: false,
  on_timeout: "deny",
  on_reject: "return_to_agent",
  escalate_to: null,
  depth: 0,
  escalated_from: null,
  escalated_to: null,
  args_hash: "ah1",
  edited: false,
  opened_at: "2026-01-02T03:04:05.000Z",
  expires_at: "2026-01-03T03:04:05.000Z",
  closed_at: null,
  closed_by: null,
  outcome: null,
};
const decided = {
  decision: "require_approval",
  reason: "Payments above 1000 need a person",
  rules: [
    {
      policy: "payments-need-a-person",
      version: "1.0.0",
      level: "tenant",
      outcome: "require_approval",
      reason: "Payments above 1000 need a person",
      observed: false,
    },
  ],
};
const path = `/v1/approvals/${scriptedApprovalId}`;

describe("a list", () => {
  test("has no arguments, and the cursor of the next page", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/approvals");
    expect([heard.status, heard.json]).toEqual([200, { items: [shown], next_cursor: "more" }]);
    expect(door.service.reached[1]?.args).toEqual([{ limit: 25 }]);
  });

  test("is narrowed by everything that it can be", async () => {
    const door = await openDoor();
    const query =
      "project=web&status=pending&tool=echo&execution_id=exec_1&requester=user:vic&mine=true&limit=5&cursor=c";
    expect((await door.ask("GET", `/v1/approvals?${query}`)).status).toBe(200);
    expect(door.service.reached[1]?.args).toEqual([
      {
        project: "web",
        status: "pending",
        tool: "echo",
        executionId: "exec_1",
        requester: "user:vic",
        mine: true,
        limit: 5,
        cursor: "c",
      },
    ]);
  });

  test("may be empty", async () => {
    const door = await openDoor({ listApprovals: async () => ({ items: [], next: undefined }) });
    expect((await door.ask("GET", "/v1/approvals?mine=false")).text).toBe('{"items":[],"next_cursor":null}');
  });

  test.each([
    ["status=open", "/status"],
    ["mine=1", "/mine"],
    ["mine=", "/mine"],
    ["project=", "/project"],
    [`tool=${"x".repeat(129)}`, "/tool"],
    [`execution_id=${"x".repeat(257)}`, "/execution_id"],
    ["limit=0", "/limit"],
    ["voter=user:fred", "/voter"],
    ["tenant=beta", "/tenant"],
  ])("%s is refused at %s", async (query, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("GET", `/v1/approvals?${query}`);
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  });
});

describe("one approval", () => {
  test("has its arguments digit for digit, its votes, its call and the rules", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", path, { headers: { "x-request-id": "r-7" } });
    expect(heard.status).toBe(200);
    const { args, execution, ...rest } = heard.json as Record<string, unknown>;
    expect(rest).toEqual({
      ...shown,
      routes: [{ route: "finance", quorum: 2, voters: ["user:fred"] }],
      votes: [
        {
          voter: "user:fred",
          decision: "approve",
          args_hash: "ah1",
          comment: "looked at it",
          edited: false,
          comprehended: false,
          at: "2026-01-02T03:04:06.000Z",
          late: false,
        },
      ],
      policy: decided,
      may_not_vote: null,
    });
    expect(args).toBeTypeOf("object");
    expect(heard.text).toContain('"args":{"amount":9007199254740993}');
    expect(execution).toMatchObject({ execution_id: scriptedCallId, status: "awaiting_approval", policy: decided });
    // The log line names the call that it is about.
    expect(await door.line((one) => one["request_id"] === "r-7")).toMatchObject({ execution_id: scriptedCallId });
  });

  test("that is about a limit has no call; who has no vote learns why", async () => {
    const approval = scriptedApproval({
      subject: { kind: "limit", callId: null, sessionId: "ses_1" },
      tool: "",
      version: "",
      argsJson: "",
      state: "rejected",
      closedAt: 1_767_323_046_000,
      closedBy: "user:fred",
      outcome: "rejected",
    });
    const detail = scriptedApprovalDetail({ approval, votes: [], call: undefined, mayNotVote: "an agent has no vote" });
    const door = await openDoor({ getApproval: async () => detail });
    expect((await door.ask("GET", path)).json).toMatchObject({
      kind: "limit",
      execution_id: null,
      session_id: "ses_1",
      status: "rejected",
      closed_at: "2026-01-02T03:04:06.000Z",
      closed_by: "user:fred",
      outcome: "rejected",
      args: null,
      votes: [],
      execution: null,
      policy: null,
      may_not_vote: "an agent has no vote",
    });
  });

  test("never shows the roles of a voter, nor the text of an edit", async () => {
    const vote = { ...scriptedVote, roles: ["secret-role"], editedArgsJson: '{"old":"edit"}', editedArgsHash: "eh" };
    const door = await openDoor({ getApproval: async () => scriptedApprovalDetail({ votes: [vote] }) });
    const heard = await door.ask("GET", path);
    expect(heard.json).toMatchObject({ votes: [{ voter: "user:fred", edited: true }] });
    expect(heard.text).not.toMatch(/secret-role|old|eh"/);
  });
});

describe("a vote", () => {
  const ask = async (body: string) => {
    const door = await openDoor();
    return { door, heard: await door.ask("POST", `${path}/votes`, { body }) };
  };

  test("is answered by the approval, and by what it came to", async () => {
    const { door, heard } = await ask('{"decision":"reject","args_hash":"ah1","comment":"too much"}');
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({
      approval_id: scriptedApprovalId,
      said: "counted",
      votes: [{}],
      may_not_vote: null,
    });
    expect(heard.text).toContain('"args":{"amount":9007199254740993}');
    expect(door.service.reached[1]).toMatchObject({
      method: "vote",
      args: [scriptedApprovalId, { decision: "reject", argsHash: "ah1", comment: "too much" }],
    });
  });

  test("with changed arguments keeps their digits", async () => {
    const { door, heard } = await ask(
      '{"decision":"approve","args_hash":"ah1","args":{"amount":9007199254740993,"rate":0.12345678901234567890},"comprehended":true}',
    );
    expect(heard.status).toBe(200);
    const [, vote] = door.service.reached[1]!.args as [string, { args: unknown; comprehended: boolean }];
    expect(JSON.stringify(vote.args)).toBe('{"amount":9007199254740993,"rate":0.12345678901234567890}');
    expect(vote.comprehended).toBe(true);
  });

  test.each(["null", "false", "0", '""', "[]", "12345678901234567890"])("arguments may be %s", async (args) => {
    const { door } = await ask(`{"decision":"approve","args_hash":"ah1","args":${args}}`);
    const [, vote] = door.service.reached[1]!.args as [string, { args: unknown }];
    expect(JSON.stringify(vote.args)).toBe(args);
  });

  test("without arguments has none", async () => {
    const { door } = await ask('{"decision":"approve","args_hash":"ah1"}');
    expect(door.service.reached[1]?.args).toEqual([scriptedApprovalId, { decision: "approve", argsHash: "ah1" }]);
    expect(Object.keys(door.service.reached[1]!.args[1] as object)).toEqual(["decision", "argsHash"]);
  });

  test.each([
    ["{}", ["/decision", "/args_hash"]],
    ['{"decision":"yes","args_hash":"ah1"}', ["/decision"]],
    ['{"decision":"approve"}', ["/args_hash"]],
    ['{"decision":"approve","args_hash":""}', ["/args_hash"]],
    ['{"decision":"approve","args_hash":7}', ["/args_hash"]],
    [`{"decision":"approve","args_hash":"ah1","comment":"${"x".repeat(1_001)}"}`, ["/comment"]],
    ['{"decision":"approve","args_hash":"ah1","comment":["x"]}', ["/comment"]],
    ['{"decision":"approve","args_hash":"ah1","comprehended":"yes"}', ["/comprehended"]],
    ['{"decision":"reject","args_hash":"ah1","args":{}}', ["/args"]],
    ['{"decision":"reject","args_hash":"ah1","args":null}', ["/args"]],
    ['{"decision":"approve","args_hash":"ah1","voter":"user:fred"}', ["/voter"]],
    ['{"decision":"approve","args_hash":"ah1","argsHash":"ah1","tenant":"beta"}', ["/argsHash", "/tenant"]],
    ['["approve"]', [""]],
  ])("%s is refused at %j", async (body, pointers) => {
    const { door, heard } = await ask(body);
    expect(heard.status).toBe(400);
    const { error } = heard.json as { error: { code: string; details: { fields: { pointer: string }[] } } };
    expect([error.code, error.details.fields.map(({ pointer }) => pointer)]).toEqual(["invalid_input", pointers]);
    expect(door.service.reached).toHaveLength(1);
  });

  test("has a comment of 1000 characters at most", async () => {
    const { heard } = await ask(`{"decision":"approve","args_hash":"ah1","comment":"${"x".repeat(1_000)}"}`);
    expect(heard.status).toBe(200);
  });

  test("with arguments that name a prototype pollutes nothing", async () => {
    const refused = await ask('{"decision":"approve","args_hash":"ah1","args":{"__proto__":{"polluted":1}}}');
    expect(refused.heard.status).toBe(400);
    const plain = await ask('{"decision":"approve","args_hash":"ah1","args":{"constructor":{"polluted":1}}}');
    expect(plain.door.service.reached[1]?.args[1]).toEqual({
      decision: "approve",
      argsHash: "ah1",
      args: { constructor: { polluted: 1 } },
    });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("is bounded in depth", async () => {
    const deep = `${"[".repeat(70)}${"]".repeat(70)}`;
    const { heard } = await ask(`{"decision":"approve","args_hash":"ah1","args":${deep}}`);
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input" } });
  });
});

describe("ids", () => {
  test.each([
    ["GET", ""],
    ["POST", "/votes"],
  ])("%s …%s: a foreign id, an unknown one and a malformed one get the same bytes", async (method, tail) => {
    const door = await openDoor();
    const body = method === "POST" ? { body: '{"decision":"approve","args_hash":"ah1"}' } : {};
    const headers = { "x-request-id": "same" };
    const unknown = "apr_01KDY7MFG80000000000000009";
    const answers = await Promise.all([
      door.ask(method, `${path}${tail}`, { token: "bob-token", headers, ...body }),
      ...[unknown, "%00", "a%20b", "..%2F..", "%F0%9F%98%80", "x".repeat(3_000)].map((id) =>
        door.ask(method, `/v1/approvals/${id}${tail}`, { headers, ...body }),
      ),
    ]);
    const asked = door.service.reached.filter(({ method: name }) => name !== "authenticate").map(({ args }) => args[0]);
    expect(asked).toHaveLength(2);
    expect(new Set(asked)).toEqual(new Set([scriptedApprovalId, unknown]));
    expect([...new Set(answers.map(({ status, text }) => `${status} ${text}`))]).toEqual([
      '404 {"error":{"code":"approval_not_found","message":"there is no such approval; GET /v1/approvals lists those that this credential may see","type":"not_found","retryable":false,"details":{},"request_id":"same"}}',
    ]);
  });
});
