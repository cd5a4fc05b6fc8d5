// A runtime moves: from its data folder into PostgreSQL, on with its work there, and back into a data folder.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "@signalbox/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, deny, workerTool } from "../support/manifests.ts";
import { noPostgres, PostgresServer } from "../support/postgres.ts";
import { startNode, type Child } from "../support/processes.ts";
import { createRest, type Rest } from "../support/rest.ts";
import { signalboxBin, startStack, within, type Stack } from "../support/stack.ts";

const readyMsMax = 20_000;
const large = "x".repeat(400_000);

let postgres: PostgresServer;
let stack: Stack;
let replica: Child | undefined;
let worker: Worker | undefined;

/** What the API tells of everything that was there before the move. */
async function toldBy(rest: Rest, operator: Rest): Promise<unknown> {
  const list = async (path: string, by: Rest = rest) => (await by.get(path)).body.items ?? [];
  const calls = await list("/v1/executions?limit=100");
  const approvals = await list("/v1/approvals?limit=100");
  const ids = (items: readonly Readonly<Record<string, unknown>>[], name: string): string[] => items.map((item) => String(item[name]));
  return {
    calls,
    whole: await Promise.all(ids(calls, "execution_id").map((id) => rest.call(id))),
    events: await Promise.all(ids(calls, "execution_id").map((id) => rest.events(id))),
    approvals: await Promise.all(ids(approvals, "approval_id").map((id) => rest.approval(id))),
    tools: (await list("/v1/tools?limit=100")).filter(({ tenant }) => tenant !== "platform"),
    policies: await list("/v1/policies?limit=100"),
    grants: await list("/v1/grants?limit=100"),
    webhooks: await list("/v1/webhooks?limit=100"),
    limits: await list("/v1/limits?limit=100"),
    tenants: await list("/v1/tenants?limit=100", operator),
    usage: await list("/v1/usage?group_by=tool"),
  };
}

const serves = async (line: Promise<string>): Promise<{ readonly url: string; readonly grpc: string }> => {
  const said = await within(readyMsMax, line, "the runtime is ready");
  return JSON.parse(said) as { readonly url: string; readonly grpc: string };
};

/** Starts the built runtime on a data folder, for as long as `work` takes. */
async function running<T>(mode: readonly string[], dataDir: string, env: Readonly<Record<string, string>>, work: (at: { url: string; grpc: string }) => Promise<T>): Promise<T> {
  const args = ["--json", "--log", "json", "--boxes", "0", "--port", "0", "--grpc-port", "0", "--data", dataDir];
  const child = startNode([signalboxBin, ...mode, ...args], { cwd: stack.folder, env });
  replica = child;
  try {
    return await work(await serves(child.nextLine()));
  } finally {
    child.signal("SIGTERM");
    await child.ended;
  }
}

async function serveWorker(address: string): Promise<void> {
  worker = new Worker({ address: [address], key: stack.adminKey, workerId: "w-moved", signals: false, log: () => undefined });
  worker.tool("pay", { version: "1.0.0" }, (args) => args);
  worker.run().catch(() => undefined);
}

/** A data folder with what is moved by hand: the key of the audit, and the keys of the local client. */
function freshFolder(name: string): string {
  const dataDir = join(stack.folder, name);
  mkdirSync(dataDir, { mode: 0o700 });
  for (const file of ["audit.key", "client.json"]) copyFileSync(join(stack.dataDir, file), join(dataDir, file));
  return dataDir;
}

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "a move", () => {
  beforeAll(async () => {
    postgres = await PostgresServer.start();
    stack = await startStack();
  });
  afterAll(async () => {
    await worker?.close();
    await replica?.kill();
    await stack.close();
    stack.remove();
    await postgres.remove();
  });

  async function fill(): Promise<{ readonly parked: { readonly id: string; readonly approvalId: string }; readonly fay: string }> {
    const { admin } = stack;
    for (const tool of ["pay", "asked", "fails", "talks"])
      await stack.register(workerTool(tool, "1.0.0", tool === "pay" ? { side_effect_class: "non_idempotent_write" } : {}));
    await stack.register(workerTool("pay", "1.1.0"), "?activate=false");
    await stack.startWorker("w-1", [
      { tool: "pay", handler: (args) => args },
      { tool: "asked", handler: (args) => args },
      { tool: "talks", handler: () => ({ large }) },
      {
        tool: "fails",
        handler: () => {
          throw new Error("no — ☂");
        },
      },
    ]);
    await stack.publish({ name: "asked", match: { tools: ["asked", "pay"] }, when: "has(args.amount) && args.amount > 5.0", missing: "skip", then: ask("finance") });
    await stack.publish({ name: "never", match: { tools: ["denied.*"] }, then: deny("no") });
    const { secret } = await stack.person("fay", "finance");
    await stack.makeKey({ principal: "service:shop", scopes: ["tools:invoke"], grants: ["tool:invoke:pay"] });
    await admin.invoke({ tool: "pay", input: { n: 9_007_199_254_740_993n } }, { "idempotency-key": "k-1" });
    await admin.invoke({ tool: "talks", input: {} });
    await admin.invoke({ tool: "fails", input: {} });
    const yes = await admin.park("asked", { amount: 7 });
    await stack.as(secret).decide(yes.approvalId, "approve", { comment: "fine" });
    await admin.until(yes.id, ["succeeded"]);
    const parked = await admin.park("pay", { amount: 8 });
    await admin.post("/v1/webhooks", { url: "https://hooks.example/x", types: ["approval.requested"] });
    return { parked, fay: secret };
  }

  const command = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, unknown>>> => {
    const { code, out, err } = await stack.cli([...args, "--json"], env);
    expect([code, err]).toEqual([0, ""]);
    return JSON.parse(out) as Readonly<Record<string, unknown>>;
  };

  test("everything is read back in the other place, what was parked goes on there, and back again", async () => {
    const { parked, fay } = await fill();
    writeFileSync(join(stack.folder, "a.txt"), "content\n");
    expect((await stack.cli(["files", "put", "a.txt"])).code).toBe(0);
    const before = await toldBy(stack.admin, stack.operator);
    const held = await stack.cli(["ledger", "export", "early.ndjson"]);
    expect([held.code, held.err]).toEqual([5, expect.stringContaining("Another process has the data folder")]);
    await stack.stop();

    const exported = await command(["ledger", "export", "ledger.ndjson", "--store", "content"]);
    expect(exported).toMatchObject({ ledger: "sqlite", tables: { calls: 5, approvals: 2, blobs: 1 }, store: { copied: true }, living_replicas: 0 });
    const SIGNALBOX_LEDGER = postgres.url(await postgres.createEmptyDatabase());
    const moved = freshFolder("moved");
    const imported = await command(["ledger", "import", "ledger.ndjson", "--data", moved, "--ledger", "--store", "content"], { SIGNALBOX_LEDGER });
    expect(imported).toMatchObject({ ledger: "postgres", rows: exported["rows"], sha256: exported["sha256"], store: exported["store"], audit: { ok: true, problems: [] } });

    await running(["serve", "--replica", "one"], moved, { SIGNALBOX_LEDGER }, async ({ url, grpc }) => {
      const [admin, operator] = [createRest(() => url, stack.adminKey), createRest(() => url, stack.operatorKey)];
      expect(await toldBy(admin, operator)).toEqual(before);
      // The key still names its call, the vote lets the parked one go on, and the chain goes on where it was.
      expect((await admin.invoke({ tool: "pay", input: { n: 9_007_199_254_740_993n } }, { "idempotency-key": "k-1" })).status).toBe(200);
      await serveWorker(grpc);
      expect((await createRest(() => url, fay).decide(parked.approvalId, "approve")).status).toBe(200);
      expect(await admin.until(parked.id, ["succeeded"])).toMatchObject({ output: { amount: 8 } });
      await worker?.close();
      expect((await admin.post("/v1/audit:verify", {})).body).toMatchObject({ ok: true, problems: [] });
      expect((await command(["ledger", "migrate", "--dry-run", "--ledger"], { SIGNALBOX_LEDGER }))["steps"]).toEqual([]);
      return toldBy(admin, operator);
    }).then(async (there) => {
      const back = freshFolder("back");
      const again = await command(["ledger", "export", "again.ndjson", "--ledger", "--data", moved], { SIGNALBOX_LEDGER });
      expect(again).toMatchObject({ ledger: "postgres", tables: { calls: 5 }, living_replicas: 0 });
      expect(await command(["ledger", "import", "again.ndjson", "--data", back, "--store", "content"])).toMatchObject({ ledger: "sqlite", audit: { ok: true } });
      const verified = await stack.cli(["audit", "verify", "--local", "--data", back, "--json"]);
      expect([verified.code, JSON.parse(verified.out)]).toMatchObject([0, { ok: true, lanes: (imported["audit"] as { lanes: number }).lanes + 1 }]);
      await running(["dev"], back, {}, async ({ url }) => {
        const [admin, operator] = [createRest(() => url, stack.adminKey), createRest(() => url, stack.operatorKey)];
        expect(await toldBy(admin, operator)).toEqual(there);
        expect((await admin.post("/v1/audit:verify", {})).body).toMatchObject({ ok: true });
      });
    });
    expect(readFileSync(join(stack.folder, "again.ndjson"), "utf8")).not.toContain(stack.adminKey);
  }, 120_000);
});
