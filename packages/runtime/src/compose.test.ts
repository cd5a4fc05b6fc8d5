// The whole runtime put together: first start and second start, what a stop leaves, and a start that fails half-way.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { resetLocalKey, startDev, verifyLocal, type DevOptions } from "./compose.ts";

let folder: string;
let options: DevOptions;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compose-"));
  options = { host: "127.0.0.1", httpPort: 0, grpcPort: 0, dataDir: join(folder, "data"), toolsDirs: [], drainMs: 100, log: "silent" };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const client = (): { url: string; key: string; grpc: string } => JSON.parse(readFileSync(join(folder, "data", "client.json"), "utf8")) as { url: string; key: string; grpc: string };

async function ask(path: string, key: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }> {
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const headers = { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const response = await fetch(`${client().url}${path}`, { ...init, headers });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

/** A port that nobody listens on at the moment. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("the first start makes a tenant, a key for its owner alone and the echo; it answers", async () => {
  const runtime = await startDev(options);
  try {
    expect(runtime.firstStart).toBe(true);
    expect(client()).toEqual({
      url: `http://127.0.0.1:${runtime.httpPort}`,
      key: expect.stringMatching(/^sbk_/) as string,
      platform_key: expect.stringMatching(/^sbk_/) as string,
      grpc: `127.0.0.1:${runtime.grpcPort}`,
    });
    expect(statSync(join(folder, "data")).mode & 0o777).toBe(0o700);
    for (const file of ["client.json", "audit.key"]) expect(statSync(join(folder, "data", file)).mode & 0o777).toBe(0o600);
    const { status, json } = await ask("/v1/executions", client().key, { tool: "echo", input: { message: "hi" } });
    expect([status, json["status"]]).toEqual([200, "succeeded"]);
  } finally {
    await runtime.stop();
  }
});

test("the second start finds all of it: same key, same calls", async () => {
  const first = await startDev(options);
  const { key } = client();
  const { json } = await ask("/v1/executions", key, { tool: "echo", input: { message: "hi" }, idempotency_key: "k1" });
  await first.stop();
  await first.closed;
  const second = await startDev(options);
  try {
    expect([second.firstStart, client().key]).toEqual([false, key]);
    const again = await ask("/v1/executions", key, { tool: "echo", input: { message: "hi" }, idempotency_key: "k1" });
    expect(again.json["execution_id"]).toBe(json["execution_id"]);
  } finally {
    await second.stop();
  }
  expect(await verifyLocal(options.dataDir)).toMatchObject({ ok: true, problems: [] });
});

test("a start that fails after its doors were opened closes them, and gives the folder back", async () => {
  const httpPort = await freePort();
  const grpcPort = await freePort();
  const failing = { ...options, httpPort, grpcPort, toolsDirs: [join(folder, "nothing-there")] };
  await expect(startDev(failing)).rejects.toThrow("is not there");
  const runtime = await startDev({ ...options, httpPort, grpcPort });
  expect([runtime.httpPort, runtime.grpcPort]).toEqual([httpPort, grpcPort]);
  await runtime.stop();
});

test("a taken port is said in words that help, and leaves nothing open", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const httpPort = typeof address === "object" && address !== null ? address.port : 0;
  await expect(startDev({ ...options, httpPort })).rejects.toThrow(`port ${httpPort} is taken`);
  await new Promise((resolve) => void server.close(resolve));
  await (await startDev({ ...options, httpPort })).stop();
});

test("manifests below a folder are registered; a bad one keeps nobody from starting", async () => {
  const tools = join(folder, "tools");
  for (const name of ["good", "bad"]) mkdirSync(join(tools, name), { recursive: true });
  const manifest = "apiVersion: signalbox.dev/v1\nkind: Tool\nmetadata: { name: greet, version: 1.0.0, owner: me, description: Greets. }\nspec: { executor: { type: worker }, input: { type: object } }\n";
  writeFileSync(join(tools, "good", "tool.yaml"), manifest);
  writeFileSync(join(tools, "bad", "tool.yaml"), "kind: [");
  const runtime = await startDev({ ...options, toolsDirs: [tools] });
  try {
    const { json } = await ask("/v1/tools", client().key);
    expect((json["items"] as { tool?: string; name?: string }[]).map((item) => item.tool ?? item.name)).toEqual(["greet", "code.run", "echo"]);
  } finally {
    await runtime.stop();
  }
});

test("a lost key is made anew while the runtime is stopped, and not while it runs", async () => {
  const runtime = await startDev(options);
  await expect(resetLocalKey(options.dataDir)).rejects.toThrow();
  const old = client().key;
  await runtime.stop();
  await resetLocalKey(options.dataDir);
  const fresh = client().key;
  expect(fresh).not.toBe(old);
  const again = await startDev(options);
  try {
    for (const key of [old, fresh]) expect((await ask("/v1/tools", key)).status).toBe(200);
  } finally {
    await again.stop();
  }
  await expect(verifyLocal(join(folder, "elsewhere"))).rejects.toThrow("holds no ledger; name the data folder with --data");
});
