// Many tenants behind one real runtime, alike in every name: tools, principals, keys, requests, files, policies, webhooks.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { ToolError, type ToolContext } from "@signalbox/worker";
import { request } from "undici";
import { createGrpcRest } from "../../support/grpc-rest.ts";
import { policyDocument, workerTool } from "../../support/manifests.ts";
import { createRest, type Rest } from "../../support/rest.ts";
import { startStack, type Stack } from "../../support/stack.ts";
import { addTenant } from "../../support/tenants.ts";
import { mark, type Watch } from "./canary.ts";

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Door = "rest" | "grpc";

export interface Asking {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Who asks: a key of a tenant. */
export type Ask = (asking: Asking) => Promise<Answer>;

export interface Tenant {
  readonly index: number;
  readonly name: string;
  /** May do everything. */
  readonly admin: Ask;
  /** Keys of the program `service:app`, two of them, in two projects. */
  readonly apps: readonly Ask[];
  /** The same over gRPC. */
  readonly grpcApps: readonly Ask[];
  /** `user:boss`, who decides. */
  readonly boss: Ask;
  /** Ids of its own calls, the newest last. */
  readonly calls: string[];
  readonly approvals: { readonly id: string; readonly argsHash: string }[];
  /** Of the files that it has put. */
  readonly files: string[];
  keyId: string;
  grantId: string;
  webhookId: string;
  /** Of its own lists. */
  readonly cursors: Map<string, string>;
}

export interface House {
  readonly stack: Stack;
  readonly tenants: readonly Tenant[];
  /** Requests that were answered. */
  asked(): number;
  /** What came to the webhooks. */
  readonly received: readonly Post[];
  metrics(): Promise<string>;
  close(): Promise<void>;
}

export interface HouseOptions {
  readonly tenants: number;
  readonly watch: Watch;
  /** Another build of the runtime than the one of this repository. */
  readonly bin?: string;
}

/** Of most tools each tenant has another version; of some all have the same. */
const sameVersion: ReadonlySet<string> = new Set(["pure", "talk"]);
const versionOf = (index: number, tool: string): string => (sameVersion.has(tool) ? "1.0.0" : `1.${index}.0`);
const nameOf = (index: number): string => `tenant-${String(index).padStart(2, "0")}`;
const readsOnly = { side_effect_class: "read_only", timeout: "20s" };

export async function openHouse({ tenants: count, watch, bin }: HouseOptions): Promise<House> {
  const stack = await startStack({
    ...(bin === undefined ? {} : { bin }),
    args: ["--enable", "fs.read,fs.write,fs.list", "--allow-private-webhooks", "--queue-wait", "20s"],
  });
  let asked = 0;
  const answered = (): void => void (asked += 1);
  const received: Post[] = [];
  const post = await postOffice(({ path, body }) => {
    received.push({ path, body });
    lookAtPost(watch, path, body);
  });
  const close = async (): Promise<void> => {
    await stack.close();
    post.closeAllConnections();
    await new Promise((resolve) => post.close(resolve));
  };
  try {
    const port = (post.address() as AddressInfo).port;
    const tenants: Tenant[] = [];
    await serveAll({ stack, watch, answered, port }, count);
    for (let index = 0; index < count; index++) tenants.push(await furnish({ stack, watch, answered, port }, index));
    const metrics = async (): Promise<string> => (await createRest(stack.url, stack.adminKey).get("/metrics")).text;
    return { stack, tenants, asked: () => asked, received, metrics, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** The path names whose webhook it is. */
function lookAtPost(watch: Watch, path: string, body: string): void {
  const [, name = ""] = path.split("/");
  const index = name.startsWith("tenant-") ? Number(name.slice("tenant-".length)) : null;
  watch.look(index, "webhook", `${path}\n${body}`);
  const told = JSON.parse(body) as { readonly signalboxtenant?: string };
  if (told.signalboxtenant !== name) watch.wrong(`the webhook of ${name} was told of ${told.signalboxtenant}`);
}

interface Post {
  readonly path: string;
  readonly body: string;
}

async function postOffice(hear: (post: Post) => void): Promise<Server> {
  const server = createServer((incoming, answer) => {
    void textOf(incoming).then((body) => {
      hear({ path: incoming.url ?? "", body });
      answer.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

interface Place {
  readonly stack: Stack;
  readonly watch: Watch;
  readonly answered: () => void;
  readonly port: number;
}

/** Every answer is looked through before anybody uses it. */
function askAs({ stack, watch, answered }: Place, index: number, key: string): Ask {
  return async ({ method, path, body, headers = {} }) => {
    const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const {
      statusCode: status,
      headers: told,
      body: stream,
    } = await request(`${stack.url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await stream.text();
    answered();
    const where = `${method} ${path.split("?")[0]?.replaceAll(/(exec|apr|key|grant|whk)_[0-9A-Z]+/g, "$1_…")}`;
    watch.look(index, where, `${JSON.stringify(told)}\n${text}`);
    if (status >= 500 && !text.includes('"retryable":true')) watch.wrong(`${where} answered ${status} ${text}`);
    return { status, text, body: parsed(text) };
  };
}

function askOverGrpc({ stack, watch, answered }: Place, index: number, key: string): Ask {
  const rest: Rest = createGrpcRest(stack.grpc, key, createRest(stack.url, key));
  return async ({ method, path, body, headers }) => {
    const {
      status,
      headers: told,
      text,
      body: answer,
    } = await rest.ask(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    });
    answered();
    watch.look(
      index,
      `gRPC for ${method} ${path.split("?")[0]}`.replaceAll(/(exec|apr|key|grant|whk)_[0-9A-Z]+/g, "$1_…"),
      `${JSON.stringify(told)}\n${text}`,
    );
    return { status, text, body: answer };
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

async function made(answer: Promise<Answer>): Promise<Readonly<Record<string, unknown>>> {
  const { status, text, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${text}`);
  return body;
}

/** One tenant with all that it needs; everything but its name and its marks is as in every other one. */
async function furnish(place: Place, index: number): Promise<Tenant> {
  const { stack, port } = place;
  const name = nameOf(index);
  const secret = await addTenant(stack.operator, name, "user:admin");
  const admin = askAs(place, index, secret);
  const told = (): string => mark(index, "told");
  const put = (path: string, body: unknown) => made(admin({ method: "PUT", path, body }));
  const post = (path: string, body: unknown) => made(admin({ method: "POST", path, body }));
  const key = async (principal: string, scopes: readonly string[], more: object = {}) =>
    post("/v1/keys", { label: `key ${told()}`, principal, scopes, ...more });
  const appScopes = ["tools:invoke", "tools:read", "calls:read", "calls:cancel"];
  const secrets: string[] = [];
  for (const project of ["default", "two"])
    secrets.push(String((await key("service:app", appScopes, { project }))["secret"]));
  const boss = await key("user:boss", ["approvals:decide", "calls:read"], { roles: ["boss"] });
  const spare = await key("service:spare", ["tools:read"]);
  const grant = await post("/v1/grants", { subject: "service:app", permissions: ["*"] });
  await registerTools(put, index);
  const rule = {
    name: "ask-first",
    match: { tools: ["asks"] },
    then: { decision: "require_approval", reason: `look ${told()}`, approval: { route: "boss" } },
  };
  await put("/v1/policies", policyDocument(rule));
  const webhook = await post("/v1/webhooks", { url: `http://127.0.0.1:${port}/${name}/${mark(index)}` });
  await startWorker(place, index, name, secret);
  return {
    index,
    name,
    admin,
    apps: secrets.map((one) => askAs(place, index, one)),
    grpcApps: secrets.map((one) => askOverGrpc(place, index, one)),
    boss: askAs(place, index, String(boss["secret"])),
    calls: [],
    approvals: [],
    files: [],
    keyId: String(spare["key_id"]),
    grantId: String(grant["grant_id"]),
    webhookId: String(webhook["webhook_id"]),
    cursors: new Map(),
  };
}

async function registerTools(put: (path: string, body: unknown) => Promise<unknown>, index: number): Promise<void> {
  const describe = (tool: string, spec: Readonly<Record<string, unknown>>) => {
    const document = workerTool(tool, versionOf(index, tool), spec);
    return { ...document, metadata: { ...document.metadata, description: `${tool} ${mark(index, "told")}` } };
  };
  for (const tool of ["work", "talk", "slow", "fails", "asks"])
    await put("/v1/tools?activate=true", describe(tool, readsOnly));
  await put("/v1/tools?activate=true", describe("pure", { ...readsOnly, pure: true, cache: { ttl: "10m" } }));
}

/** A tool of the platform, which answers every tenant with a mark of its own, whatever they have in common. */
async function serveAll({ stack, watch }: Place, count: number): Promise<void> {
  const tool = "shared";
  const manifest = workerTool(tool, "1.0.0", { ...readsOnly, pure: true, cache: { ttl: "10m" } });
  await made(stack.operator.put("/v1/tools", manifest));
  const scopes = ["workers:connect", "calls:read"];
  const key = await made(stack.operator.post("/v1/keys", { label: "shared", principal: "service:shared", scopes }));
  const secret = String(key["secret"]);
  const handler = (args: unknown, { invoke }: ToolContext): unknown => {
    const index = Array.from({ length: count }, (_, at) => at).find((at) => nameOf(at) === invoke.tenant) ?? -1;
    watch.look(index, "worker shared", JSON.stringify([args, invoke]));
    return { mark: mark(index) };
  };
  const offered = [{ tool, handler, maxConcurrency: 64 }];
  await stack.startWorker("worker", offered, { key: secret, capacity: 256 }, createRest(stack.url, secret));
}

/** Handlers of one tenant: they see to it that what comes is their own, and answer with marks of their own. */
async function startWorker({ stack, watch }: Place, index: number, name: string, secret: string): Promise<void> {
  const mine = (context: ToolContext, args: unknown): string => {
    const { invoke } = context;
    if (invoke.tenant !== name) watch.wrong(`the worker of ${name} was given a call of ${invoke.tenant}`);
    watch.look(index, `worker ${invoke.tool}`, JSON.stringify([args, invoke]));
    return mark(index);
  };
  const handlers: Readonly<Record<string, (args: unknown, context: ToolContext) => unknown>> = {
    work: (args, context) => ({ mark: mine(context, args), args }),
    asks: (args, context) => ({ mark: mine(context, args), args }),
    pure: (args, context) => ({ mark: mine(context, args) }),
    talk(args, context) {
      const own = mine(context, args);
      for (let n = 0; n < 3; n++) context.output("stdout", `${own} says ${n}\n`);
      context.output("stderr", `${own} mutters\n`);
      context.progress(50, `${own} is half way`);
      context.log(`${own} notes`);
      return { mark: own };
    },
    async slow(args, context) {
      const own = mine(context, args);
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, 500);
        context.signal.addEventListener("abort", () => {
          clearTimeout(timer);
          reject(context.signal.reason as Error);
        });
      });
      return { mark: own };
    },
    fails(args, context) {
      const own = mine(context, args);
      throw new ToolError("boom", `it broke: ${own}`, { details: { mark: own, args } });
    },
  };
  const tools = Object.entries(handlers).map(([tool, handler]) => ({
    tool,
    version: versionOf(index, tool),
    maxConcurrency: 64,
    handler,
  }));
  // The same id and labels in every tenant.
  await stack.startWorker("worker", tools, { key: secret, capacity: 256 }, createRest(stack.url, secret));
}
