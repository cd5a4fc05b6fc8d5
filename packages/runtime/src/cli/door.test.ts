// The command line against the real HTTP door: both must mean the same by every route, field and code.
import { expect, test } from "vitest";
import { cli } from "../../../../test/support/command-line.ts";
import { openDoor } from "../../../../test/support/http-door.ts";
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
