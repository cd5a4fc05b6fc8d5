// The command line against the real HTTP door: both must mean the same by every route, field and code.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cli } from "../../../../test/support/command-line.ts";
import { openDoor } from "../../../../test/support/http-door.ts";
import { scriptedApprovalId, scriptedWebhookId } from "../../../../test/support/scripted-governance.ts";
import { scriptedCall, scriptedCallId } from "../../../../test/support/scripted-service.ts";
import type { InvokeRequest, Service } from "../service.ts";

async function at(replaced: Partial<Service> = {}) {
  const { port, service } = await openDoor(replaced);
  const env = { SIGNALBOX_URL: `http://127.0.0.1:${port}`, SIGNALBOX_KEY: "alice-token" };
  return { service, run: (...args: readonly string[]) => cli(args, { env }) };
}

test.each([
  [["status"], "ready"],
  [["workers", "list"], "WORKER"],
  [["tools", "list"], "echo"],
  [["tools", "show", "echo"], "echo@1.2.0"],
  [["tools", "activate", "echo", "1.2.0"], "echo@1.2.0 is active"],
  [["calls", "list", "--tool", "echo", "--status", "succeeded", "--since", "1h", "--limit", "500"], scriptedCallId],
  [["calls", "show", scriptedCallId], `"n": 9007199254740993`],
  [["calls", "events", scriptedCallId], "dispatched"],
  [["calls", "cancel", scriptedCallId], scriptedCallId],
  [["calls", "resolve", scriptedCallId, "confirm", "--output", "1"], scriptedCallId],
  [["keys", "list"], "SCOPES"],
  [
    ["keys", "create", "--label", "ci", "--principal", "service:ci", "--scope", "tools:invoke", "--expires", "7d"],
    "secret",
  ],
  [["keys", "revoke", "key_1"], "is revoked"],
  [["grants", "list"], "SUBJECT"],
  [
    ["grants", "create", "--subject", "service:ci", "--permission", "tool:invoke:echo", "--expires", "7d"],
    "tool:invoke",
  ],
  [["grants", "revoke", "grant_1"], "is revoked"],
  [["audit", "list", "--principal", "user:alice", "--call", scriptedCallId], "ACTION"],
  [["audit", "verify"], "the chain holds"],
  [["tools", "search", "echo", "says", "--category", "demo", "--owner", "me", "--label", "tier=1"], "echo"],
  [["tools", "pin", "echo", "^1"], "is pinned to"],
  [["tools", "unpin", "echo"], "is not pinned any more"],
  [["tools", "pins", "--limit", "5"], "PINNED TO"],
  [["tools", "rollback", "echo"], "is active, not"],
  [["tools", "rollback", "echo@1.0.0"], "is active, not"],
  [["tools", "history", "echo"], "ACTIVE FROM"],
  [["tools", "deprecate", "echo@1.2.0"], "echo@1.2.0 is"],
  [["tools", "deprecate", "echo@1.2.0", "--undo"], "echo@1.2.0 is"],
  [["tools", "quarantine", "echo", "--reason", "leaks"], "quarantine"],
  [["tools", "release", "echo@1.2.0", "--reason", "mended"], "quarantine"],
  [["tools", "enable", "echo", "--project", "default"], "enabled"],
  [["tools", "disable", "echo"], "in project default"],
  [["tools", "projects"], "STATE"],
  [
    ["policies", "list", "--level", "tenant", "--status", "active", "--name", "x", "--limit", "5"],
    "payments-need-a-person",
  ],
  [["policies", "show", "payments-need-a-person"], `"n": 9007199254740993`],
  [["policies", "activate", "payments-need-a-person@1.0.0"], "payments-need-a-person@1.0.0 is"],
  [["policies", "withdraw", "payments-need-a-person@1.0.0"], "payments-need-a-person@1.0.0 is"],
  [
    [
      "policies",
      "explain",
      "echo@^1",
      "--input",
      `{"n":1}`,
      "--principal",
      "user:ann",
      "--role",
      "clerk",
      "--now",
      "2027-01-31T12:00:00Z",
    ],
    "The call would be",
  ],
  [
    [
      "policies",
      "explain",
      "echo",
      "--trigger",
      "dispatch.no_handler",
      "--environment",
      "",
      "--agent",
      "",
      "--context",
      "{}",
    ],
    "call",
  ],
  [["policies", "default"], "DEFAULT"],
  [["policies", "default", "deny", "--project", "default"], "default"],
  [["policies", "default", "none"], "default"],
  [
    ["approvals", "list", "--mine", "--tool", "echo", "--requester", "user:vic", "--project", "default"],
    scriptedApprovalId,
  ],
  [["approvals", "show", scriptedApprovalId], `"amount": 9007199254740993`],
  [["approvals", "approve", scriptedApprovalId, "--comment", "fine", "--comprehended"], "approved"],
  [["approvals", "approve", scriptedApprovalId, "--args-hash", "ah1", "--args", `{"amount":1}`], "approved"],
  [["approvals", "reject", scriptedApprovalId, "--args-hash", "ah1", "--comment", "no"], "1 of 2"],
  [["projects", "list"], "ENVIRONMENT"],
  [["projects", "set", "shop", "--environment", "production"], "environment"],
  [["freeze", "--tool", "echo", "--reason", "incident"], "is frozen"],
  [["freeze"], "is frozen"],
  [["freeze", "--list"], "FROZEN"],
  [["unfreeze", "--tool", "echo"], "echo"],
  [["webhooks", "add", "https://example.com/hooks", "--type", "approval.requested"], "secret"],
  [["webhooks", "list"], scriptedWebhookId],
  [["webhooks", "remove", scriptedWebhookId], "is removed"],
  [["webhooks", "deliveries", "--webhook", scriptedWebhookId, "--state", "pending"], "dlv_1"],
  [["run", "echo", "--input", `{"message":"hi"}`, "--timeout", "5s", "--project", "default"], `"message": "hi"`],
  [["run", "echo", "--async"], scriptedCallId],
])("signalbox %j is understood", async (args, shown) => {
  const { run } = await at();
  const { code, out, err } = await run(...args);
  expect([code, err.includes("error:") ? err : ""]).toEqual([0, ""]);
  expect(out).toContain(shown);
  const json = await run(...args, "--json");
  expect(json.code).toBe(0);
  expect(() => JSON.parse(json.out) as unknown).not.toThrow();
});

test("what run sends arrives as it was meant", async () => {
  const { run, service } = await at();
  await run(
    "run",
    "echo@^1",
    "--input",
    `{"n":12345678901234567890}`,
    "--idempotency-key",
    "order-1",
    "--timeout",
    "5s",
  );
  const request = service.reached.find(({ method }) => method === "invoke")?.args[0] as InvokeRequest;
  expect(request).toMatchObject({
    tool: "echo",
    version: "^1",
    mode: "sync",
    waitMs: 30_000,
    limits: { timeoutMs: 5_000 },
    idempotencyKey: "order-1",
  });
  expect(JSON.stringify(request.input)).toBe(`{"n":12345678901234567890}`);
});

test("policy files and cases arrive as they were written, digit for digit", async () => {
  const { run, service } = await at();
  const cwd = await mkdtemp(join(tmpdir(), "signalbox-door-"));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await writeFile(join(cwd, "p.policy.yaml"), "kind: Policy\nn: 12345678901234567890\n");
  await writeFile(join(cwd, "cases.yaml"), "cases:\n  - n: 12345678901234567890\n");
  const within = (...args: readonly string[]) => run(...args.map((arg) => arg.replace("@/", `${cwd}/`)));
  const published = await within("policies", "publish", "@/p.policy.yaml", "--dry-run");
  expect([published.code, published.out.split(":")[0]]).toEqual([0, "payments-need-a-person@1.0.0 would be published"]);
  await within("policies", "test", "@/cases.yaml", "--policies", "@/p.policy.yaml");
  const asked = (name: string) => service.reached.find(({ method }) => method === name)?.args;
  expect(JSON.stringify(asked("publishPolicy"))).toBe(`[{"kind":"Policy","n":12345678901234567890},{"dryRun":true}]`);
  expect(JSON.stringify(asked("testPolicies"))).toBe(
    `[{"cases":[{"n":12345678901234567890}]},[{"kind":"Policy","n":12345678901234567890}]]`,
  );
});

test("a call that ended badly, and one without an end, are told apart", async () => {
  const failed = scriptedCall({
    state: "failed",
    outputJson: null,
    error: { code: "tool_error", message: "card declined", type: "tool", retryable: false, details: {} },
  });
  const bad = await at({ invoke: async () => ({ call: failed, progress: "settled", replayed: false }) });
  const ended = await bad.run("run", "echo");
  expect([ended.code, ended.out]).toEqual([1, ""]);
  expect(ended.err).toContain(`error: card declined (tool_error)\nnext:  signalbox calls show ${scriptedCallId}\n`);
  const parked = await at({
    invoke: async () => ({
      call: scriptedCall({ state: "indeterminate", settledAt: null, outputJson: null }),
      progress: "parked",
      replayed: false,
    }),
  });
  expect((await parked.run("run", "echo")).code).toBe(6);
});

test("a wrong key is refused, an unknown call is not found", async () => {
  const { port } = await openDoor();
  const env = { SIGNALBOX_URL: `http://127.0.0.1:${port}`, SIGNALBOX_KEY: "nobody" };
  expect((await cli(["tools", "list"], { env })).code).toBe(3);
  const bob = { ...env, SIGNALBOX_KEY: "bob-token" };
  expect((await cli(["calls", "show", scriptedCallId], { env: bob })).code).toBe(4);
});
