// TLS on both doors, and the refusal to let keys travel in clear text beyond this machine.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Worker } from "@signalbox/worker";
import { Agent, request } from "undici";
import { signalboxBin } from "../support/stack.ts";
import { startNode, type Child } from "../support/processes.ts";
import { step, whyNoPython } from "../support/python.ts";

let folder: string;
let certFile: string;
let keyFile: string;
const open: Child[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-tls-"));
  certFile = join(folder, "cert.pem");
  keyFile = join(folder, "key.pem");
  const names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=signalbox", "-addext", names, "-keyout", keyFile, "-out", certFile], { stdio: "ignore" });
});
afterAll(async () => {
  for (const child of open) await child.kill();
  rmSync(folder, { recursive: true, force: true });
});

function dev(data: string, ...args: readonly string[]): Child {
  const child = startNode([signalboxBin, "dev", "--json", "--port", "0", "--grpc-port", "0", "--boxes", "0", "--data", join(folder, data), ...args], { cwd: folder });
  open.push(child);
  return child;
}

interface Ready {
  readonly url: string;
  readonly grpc: string;
  readonly key_file: string;
}

const readyOf = async (child: Child): Promise<Ready> => JSON.parse(await child.nextLine()) as Ready;

test("both doors speak TLS: a call over https, by a worker over TLS; clear text gets nowhere", async () => {
  const ready = await readyOf(dev("tls", "--tls", `${certFile},${keyFile}`));
  expect(ready.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const { key, url } = JSON.parse(readFileSync(ready.key_file, "utf8")) as { key: string; url: string };
  expect(url).toBe(ready.url);
  const ca = readFileSync(certFile, "utf8");
  const dispatcher = new Agent({ connect: { ca } });
  const ask = async (method: "PUT" | "POST", path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await request(`${url}${path}`, { method, headers, body: JSON.stringify(body), dispatcher });
    return { status: answer.statusCode, body: (await answer.body.json()) as { readonly output?: unknown } };
  };
  const manifest = {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name: "hello", version: "1.0.0", owner: "tests", description: "Says hello." },
    spec: { executor: { type: "worker" }, side_effect_class: "read_only", input: { type: "object" } },
  };
  expect((await ask("PUT", "/v1/tools?activate=true", manifest)).status).toBe(201);
  const worker = new Worker({ address: ready.grpc, key, workerId: "w-tls", tls: { ca } });
  worker.tool("hello", { version: "1.0.0", sideEffectClass: "read_only" }, () => ({ said: "hello" }));
  const running = worker.run();
  try {
    expect(await ask("POST", "/v1/executions", { tool: "hello", input: {} })).toMatchObject({ status: 200, body: { output: { said: "hello" } } });
    await expect(request(url.replace("https:", "http:"))).rejects.toThrow();
    // Without the authority's certificate nobody believes the door.
    await expect(request(`${url}/healthz`)).rejects.toThrow(/self-signed|certificate/);
  } finally {
    await worker.close();
    await running;
    await dispatcher.close();
  }
});

test("a sandbox worker comes over TLS to whom it is told to believe, by the address that answers, and to nobody else", async () => {
  const ready = await readyOf(dev("boxes", "--tls", `${certFile},${keyFile}`));
  const { platform_key: key } = JSON.parse(readFileSync(ready.key_file, "utf8")) as { platform_key: string };
  const store = join(folder, "boxes", "store");
  const start = (connect: string, ...flags: readonly string[]): Child => {
    const args = [signalboxBin, "worker", "--connect", connect, "--store", store, "--backends", "native", "--worker-id", "w-boxes", ...flags];
    const child = startNode(args, { cwd: folder, env: { SIGNALBOX_WORKER_KEY: key } });
    open.push(child);
    return child;
  };
  const ca = readFileSync(certFile, "utf8");
  const dispatcher = new Agent({ connect: { ca } });
  const workers = async () => {
    const answer = await request(`${ready.url}/v1/workers`, { headers: { authorization: `Bearer ${key}` }, dispatcher });
    const { items } = (await answer.body.json()) as { readonly items: readonly { readonly worker_id: string }[] };
    return items.map(({ worker_id }) => worker_id);
  };
  try {
    const stranger = start(ready.grpc, "--tls");
    await expect.poll(() => stranger.stderr(), { timeout: 20_000 }).toMatch(/cannot be reached/);
    expect(await workers()).not.toContain("w-boxes");
    await stranger.kill();
    // Nobody listens at the first address.
    start(`127.0.0.1:1,${ready.grpc}`, "--tls-ca", certFile);
    await expect.poll(workers, { timeout: 20_000 }).toContain("w-boxes");
  } finally {
    await dispatcher.close();
  }
}, 60_000);

test("the Python client believes whom it is told to believe, and nobody else", async ({ skip }) => {
  const missing = whyNoPython();
  if (missing !== undefined) return skip(missing);
  const { key_file } = await readyOf(dev("python", "--tls", `${certFile},${keyFile}`));
  const { key, url } = JSON.parse(readFileSync(key_file, "utf8")) as { key: string; url: string };
  expect(await step("over_tls", { url, key, ca: certFile })).toEqual({
    output: { n: 1 },
    stranger: { code: "unreachable", retryable: false },
  });
});

test("the command line names the way to vouch for a certificate, and it works", async () => {
  const { key_file } = await readyOf(dev("cli", "--tls", `${certFile},${keyFile}`));
  const { key, url } = JSON.parse(readFileSync(key_file, "utf8")) as { key: string; url: string };
  const tools = (env: Readonly<Record<string, string>>): Child => {
    const child = startNode([signalboxBin, "tools", "list"], { cwd: folder, env: { SIGNALBOX_URL: url, SIGNALBOX_KEY: key, ...env } });
    open.push(child);
    return child;
  };
  const stranger = tools({});
  expect((await stranger.ended).code).toBe(5);
  expect(stranger.stderr()).toContain("NODE_EXTRA_CA_CERTS=");
  expect((await tools({ NODE_EXTRA_CA_CERTS: certFile }).ended).code).toBe(0);
});

test.each([
  ["an address of the network without TLS", ["--host", "0.0.0.0"], "--tls cert.pem,key.pem"],
  ["a certificate that is not there", ["--tls", "nothing.pem,key.pem"], "nothing.pem cannot be read"],
  ["files that do not belong together", ["--tls", "key.pem,cert.pem"], "no certificate and its key"],
  ["one file", ["--tls", "cert.pem"], "takes two files"],
])("%s is refused before anything opens", async (_, args, said) => {
  const child = dev("refused", ...args);
  expect((await child.ended).code).not.toBe(0);
  expect(`${child.stdout()}${child.stderr()}`).toContain(said);
});

test("clear text beyond this machine has to be asked for, and is said loudly", async () => {
  const child = dev("open", "--host", "0.0.0.0", "--insecure", "--log", "json");
  const { url } = await readyOf(child);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect(child.stderr()).toContain("the doors speak clear text beyond this machine");
});
