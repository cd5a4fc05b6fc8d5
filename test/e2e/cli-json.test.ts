// What every command prints with `--json`, against a real runtime: names and types of all fields are pinned in test/pins/cli-json.json.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { ToolError } from "@signalbox/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { everyCommand } from "../../packages/runtime/src/cli/command-tree.ts";
import { merged, misfits, shapeOf, unseen, type Shape } from "../pins/shape.ts";
import { allCommands, cli, startCli } from "../support/command-line.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { agentDocument, ask, policyDocument, workerTool } from "../support/manifests.ts";
import { scriptedHttp } from "../support/scripted-http.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const pinsFile = fileURLToPath(new URL("../pins/cli-json.json", import.meta.url));
const updating = process.env["UPDATE_PINS"] === "1";
const pins: Readonly<Record<string, Shape>> = updating
  ? {}
  : (JSON.parse(readFileSync(pinsFile, "utf8")) as Record<string, Shape>);

/** Commands without a pin of their own, and why. */
const otherwise: Readonly<Record<string, string>> = {
  dev: "its one line is compared in dev.test.ts",
  serve: "its one line is what replicas of tests are found by, in fleet.ts",
  worker: "what it prints depends on the boxes of this machine",
  doctor: "what it prints depends on the boxes of this machine",
  "ledger export": "wants a stopped runtime; compared in ledger.test.ts",
  "ledger import": "wants an empty ledger; compared in ledger.test.ts",
  "ledger migrate": "compared in ledger.test.ts",
  "keys reset": "wants a stopped runtime; compared in administration.test.ts",
  completion: "prints a script",
  help: "prints text",
  chat: "its lines are the stream's; compared in chat.test.ts",
};

const gates = createGates();
const models = mkdtempSync(join(tmpdir(), "signalbox-models-"));
/** All that was printed, by the name of its pin. */
const seen: Record<string, Shape> = {};
const commandsRun = new Set<string>();
let stack: Stack;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  const call = { tool: "pay", input: {} };
  writeFileSync(join(models, "turns.yaml"), stringify({ scripts: { turns: { branches: [{ completions: [{ text: "I pay.", calls: [call] }, { text: "Paid." }] }] } } }));
  writeFileSync(join(models, "models.yaml"), stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  stack = await startStack({ args: ["--allow-private-webhooks", "--models", join(models, "models.yaml")] });
  const keys = JSON.parse(readFileSync(join(stack.dataDir, "client.json"), "utf8")) as { platform_key: string };
  env = { SIGNALBOX_URL: stack.url(), SIGNALBOX_KEY: stack.adminKey, SIGNALBOX_PLATFORM_KEY: keys.platform_key };
  mkdirSync(join(stack.folder, "policies"));
  const unsafe = { side_effect_class: "non_idempotent_write", output: { type: "object" } };
  for (const name of ["pay", "fails", "stuck", "asked"]) await stack.register(workerTool(name, "1.0.0", unsafe));
  await stack.startWorker("w-json", [
    { tool: "pay", handler: () => ({ ok: true }) },
    {
      tool: "fails",
      handler() {
        throw new ToolError("no_money", "the account is empty", { details: { left: 0 } });
      },
    },
    { tool: "stuck", handler: gates.hold },
    { tool: "asked", handler: () => ({ ok: true }) },
  ]);
});
afterAll(async () => {
  if (updating) writeFileSync(pinsFile, `${JSON.stringify(seen, null, 2)}\n`);
  gates.open("stuck");
  await finish(stack, gates);
  rmSync(models, { recursive: true, force: true });
});

const advice =
  "Programs read what commands print with --json. A field that is gone or of another type breaks them: bring it back. " +
  "What is new is taken by UPDATE_PINS=1 npx vitest run test/e2e/cli-json.test.ts, and belongs into the change log.";

function pinned(name: string, found: Shape): void {
  seen[name] = seen[name] === undefined ? found : merged(seen[name], found);
  if (!updating) expect(misfits(pins[name], found, `signalbox ${name}`), advice).toEqual([]);
}

/** Runs a command with `--json`, compares what it prints, and gives it back. */
async function json(name: string, ...args: readonly string[]): Promise<Record<string, string>> {
  commandsRun.add(name);
  const { code, out, err } = await cli([...name.split(" "), ...args, "--json"], { env, cwd: stack.folder });
  expect([name, code, err]).toEqual([name, 0, ""]);
  const value = JSON.parse(out) as Record<string, string>;
  const { items } = value as { readonly items?: unknown };
  // Some commands list what there is, or make one more.
  const both = ["policies default", "freeze"].includes(name);
  pinned(both && items !== undefined ? `${name} (the list)` : name, shapeOf(value));
  return value;
}

/** The same for what goes on: one object a line, the shapes of one type together. */
async function jsonLines(
  name: string,
  args: readonly string[],
  last: (line: Record<string, string>) => boolean,
): Promise<void> {
  commandsRun.add(name);
  const run = startCli([...name.split(" "), ...args, "--json"], { env, cwd: stack.folder });
  const lines = () =>
    run
      .out()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, string>);
  await expect.poll(() => lines().some(last), slowly).toBe(true);
  run.signal("SIGINT");
  expect([name, await run.ended, run.err()]).toEqual([name, 0, ""]);
  const types: Record<string, Shape> = {};
  for (const line of lines()) {
    const type = line["type"] ?? "line";
    const shape = shapeOf(line);
    types[type] = types[type] === undefined ? shape : merged(types[type], shape);
  }
  pinned([name, ...args.filter((arg) => ["--watch", "--follow"].includes(arg))].join(" "), types);
}

async function call(tool: string, input: object, mode = "sync"): Promise<Record<string, string>> {
  return (await stack.admin.invoke({ tool, input, mode })).body as unknown as Record<string, string>;
}

async function ended(id: string, status: string): Promise<void> {
  await expect.poll(async () => (await stack.admin.call(id)).status, slowly).toBe(status);
}

describe("what each command prints", () => {
  test("tools", async () => {
    await json("init", "hello");
    await json("validate", "hello");
    await json("tools register", "hello");
    writeFileSync(join(stack.folder, "hello2.yaml"), stringify(workerTool("hello.greet", "1.1.0")));
    await json("tools register", "hello2.yaml");
    await json("tools list");
    await json("tools search", "pay");
    await json("tools show", "pay");
    await json("tools activate", "hello.greet@1.1.0");
    await json("tools history", "hello.greet");
    await json("tools rollback", "hello.greet");
    await json("tools pin", "hello.greet", "^1");
    await json("tools pins");
    await json("tools unpin", "hello.greet");
    await json("tools deprecate", "hello.greet@1.1.0");
    await json("tools quarantine", "hello.greet", "--reason", "a look");
    await json("tools release", "hello.greet");
    await json("tools disable", "hello.greet", "--project", "default");
    await json("tools projects");
    await json("tools enable", "hello.greet", "--project", "default");
  });

  test("sessions", async () => {
    await stack.admin.put("/v1/agents", agentDocument("clerk", "1.0.0", { tools: [{ tool: "pay@1.0.0" }] }));
    await stack.admin.post("/v1/agents/clerk/deploy", { version: "1.0.0" });
    const { session_id: id = "" } = await json("sessions start", "clerk", "--message", "pay");
    await json("sessions send", id, "pay again");
    await json("sessions list");
    await json("sessions show", id);
    await json("sessions events", id);
    await json("sessions inspect", id);
    await json("sessions cancel", id);
    await json("sessions complete", id);
    await json("sessions list", "--status", "completed");
  });

  test("agents", async () => {
    await json("agents init", "desk");
    await json("agents validate", "desk/agent.yaml");
    await json("agents validate", "desk", "--server");
    await json("agents publish", "desk", "--comment", "first");
    writeFileSync(join(stack.folder, "next.agent.yaml"), stringify(agentDocument("desk", "1.1.0", { tools: [{ tool: "gone@9.9.9" }] })));
    await json("agents publish", "next.agent.yaml");
    await json("agents list");
    await json("agents deploy", "desk", "1.0.0");
    await json("agents deploy", "desk@1.1.0");
    await json("agents show", "desk");
    await json("agents versions", "desk");
    await json("agents diff", "desk", "1.0.0", "1.1.0");
    await json("agents rollback", "desk");
    await json("agents deprecate", "desk", "1.1.0");
    await json("agents retire", "desk", "1.1.0");
    await json("agents archive", "desk");
    await json("agents list");
    await json("agents unarchive", "desk");
    await json("agents history", "desk");
  });

  test("policies", async () => {
    const write = (name: string, policy: object): void =>
      writeFileSync(join(stack.folder, "policies", `${name}.policy.yaml`), stringify(policy));
    write("ask", policyDocument({ name: "ask", match: { tools: ["asked"] }, then: ask("finance") }));
    write(
      "slow",
      policyDocument({
        name: "slow",
        match: { tools: ["pay"] },
        when: "args.amount > 5.0",
        missing: "match",
        then: { decision: "allow", reason: "not for long", obligations: { limits: { timeout: "5s" } } },
      }),
    );
    await json("policies publish", "policies");
    await json("policies list");
    await json("policies show", "ask");
    const cases = [{ name: "asked", call: { tool: "asked", args: {} }, expect: { decision: "require_approval" } }];
    writeFileSync(join(stack.folder, "cases.yaml"), stringify({ cases }));
    await json("policies test", "cases.yaml");
    await json("policies explain", "asked", "--input", "{}");
    await json("policies default", "allow");
    await json("policies default");
    await json("policies withdraw", "slow@1.0.0");
    await json("policies activate", "slow@1.0.0");
  });

  test("calls and approvals", async () => {
    const { url } = await scriptedHttp({ "POST /": [{ body: {} }] });
    await json("webhooks add", `${url}/`, "--type", "approval.requested");
    await json("run", "pay", "--input", '{"amount":7}', "--idempotency-key", "json-1");
    await json("run", "pay", "--async", "--idempotency-key", "json-2");
    await jsonLines("run", ["pay", "--follow", "--idempotency-key", "json-3"], ({ type }) => type === "done");
    const failed = await call("fails", {});
    const parked = await call("asked", {});
    const other = await call("asked", { n: 2 });
    const stuck = await call("stuck", { gate: "stuck" }, "async");
    await gates.entered("stuck");
    await json("calls cancel", stuck["execution_id"] ?? "");
    await ended(stuck["execution_id"] ?? "", "cancelled");

    await json("approvals list");
    await json("approvals show", parked["approval_id"] ?? "");
    await jsonLines("approvals list", ["--watch"], () => true);
    const { secret } = await stack.person("fay", "finance");
    const admin = env;
    env = { ...admin, SIGNALBOX_KEY: secret };
    await json("approvals approve", parked["approval_id"] ?? "", "--comment", "fine");
    await json("approvals reject", other["approval_id"] ?? "", "--comment", "no");
    env = admin;
    await ended(parked["execution_id"] ?? "", "succeeded");
    await jsonLines("approvals show", [parked["approval_id"] ?? "", "--watch"], () => true);

    await json("calls list", "--limit", "100");
    await json("calls show", failed["execution_id"] ?? "");
    await json("calls events", parked["execution_id"] ?? "");
    await jsonLines("calls follow", [parked["execution_id"] ?? ""], ({ type }) => type === "done");
    await jsonLines("calls list", ["--watch", "--limit", "100"], () => true);
    await jsonLines("calls tail", ["--lines", "100"], () => true);
    await json("audit list", "--call", failed["execution_id"] ?? "");
    await json("audit verify");
    const delivered = async () => (await cli(["webhooks", "deliveries", "--json"], { env })).out;
    await expect.poll(delivered, slowly).not.toContain('"pending"');
    await json("webhooks deliveries");
    const { items } = (await json("webhooks list")) as unknown as { items: readonly { webhook_id: string }[] };
    await json("webhooks remove", items[0]?.webhook_id ?? "");
  });

  test("an indeterminate call is resolved", async () => {
    // Unsafe, too slow, and deaf to the stop: nobody knows what it did.
    const body = { tool: "stuck", input: { gate: "deaf", stubborn: true }, mode: "async", limits: { timeout_ms: 100 } };
    const { execution_id: id = "" } = (await stack.admin.invoke(body)).body;
    await ended(id, "indeterminate");
    await json("calls resolve-all", "--verdict", "fail");
    await json("calls resolve", id, "confirm", "--output", "{}", "--comment", "seen at the bank");
    await json("calls replay", id, "--acknowledge", "--async");
    gates.open("deaf");
  });

  test("the runtime, its workers, and what brakes it", async () => {
    await json("status");
    await jsonLines("status", ["--watch"], () => true);
    await json("workers list");
    await jsonLines("workers list", ["--watch"], () => true);
    await json("freeze", "--tool", "pay", "--reason", "a look");
    await json("freeze", "--list");
    await json("unfreeze", "--tool", "pay");
    writeFileSync(join(stack.folder, "a.txt"), "a");
    await json("files put", "a.txt");
  });

  test("who may ask", async () => {
    await json("projects set", "shop", "--environment", "staging");
    await json("projects list");
    const flags = ["--label", "ci", "--principal", "service:ci", "--scope", "tools:invoke"];
    const { key_id: key = "" } = await json("keys create", ...flags, "--expires", "2099-01-01T00:00:00Z");
    await json("keys list");
    await json("keys revoke", key);
    const { grant_id: grant = "" } = await json(
      "grants create",
      "--subject",
      "service:ci",
      "--permission",
      "tool:invoke:pay",
    );
    await json("grants list");
    await json("grants revoke", grant);
  });

  test("tenants", async () => {
    await json("tenants create", "acme", "--platform");
    await json("tenants list", "--platform");
    await json("tenants show", "acme", "--platform");
    await json("tenants set", "acme", "--weight", "2", "--platform");
    const flags = ["--label", "ci", "--principal", "service:ci", "--scope", "tools:invoke", "--platform"];
    const { key_id: key = "" } = await json("tenants keys create", "acme", ...flags);
    await json("tenants keys list", "acme", "--platform");
    await json("tenants keys revoke", "acme", key, "--platform");
    await json("tenants suspend", "acme", "--reason", "a look", "--platform");
    await json("tenants resume", "acme", "--platform");
  });

  test("limits and usage", async () => {
    await json("limits set", "tool", "pay", "--per-minute", "6000", "--burst", "1000");
    await json("limits set", "tenant", "--executions-per-day", "100000", "--time-zone", "Europe/Paris");
    await json("limits list");
    await json("limits remove", "tool", "pay");
    await json("usage", "--by", "tenant,project,tool,day");
  });

  test("an error, made by the runtime and made here", async () => {
    for (const [name, args] of [
      ["an error of the runtime", ["tools", "show", "nope"]],
      ["an error of a call", ["run", "fails", "--idempotency-key", "json-9"]],
      ["an error of the command line", ["frob"]],
    ] as const) {
      const { out, err } = await cli([...args, "--json"], { env });
      expect(out).toBe("");
      pinned(name, shapeOf(JSON.parse(err)));
    }
  });
});

test("every command that prints data is run here", () => {
  const leaves = everyCommand(allCommands()).filter(({ command }) => command.commands.length === 0);
  const names = leaves.map(({ path }) => path.join(" "));
  const without = names.filter((name) => !commandsRun.has(name) && otherwise[name] === undefined);
  expect(without, "run each of them in this file, with json(…), and pin it with UPDATE_PINS=1").toEqual([]);
  expect(Object.keys(otherwise).filter((name) => !names.includes(name))).toEqual([]);
});

test("no field that is pinned has gone", () => {
  const gone = Object.entries(pins).flatMap(([name, shape]) => unseen(shape, seen[name], `signalbox ${name}`));
  expect(gone, advice).toEqual([]);
});
