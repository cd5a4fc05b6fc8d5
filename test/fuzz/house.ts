// A whole runtime behind a real HTTP door, in this process: two tenants, tools, rules, people, a worker that answers, and a clock that runs fast.
import { Agent, request as send } from "undici";
import type { Invoke } from "@signalbox/protocol";
import { createHttpDoor, type HttpDoor } from "../../packages/runtime/src/adapters/http/server.ts";
import type { Principal } from "../../packages/runtime/src/tenancy/types.ts";
import { SignalboxError } from "@signalbox/protocol";
import { Governed, policyDocument } from "../support/governed.ts";
import type { HandStream } from "../support/hand-stream.ts";
import { agentDocument } from "../support/manifests.ts";

export interface Request {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

export interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Stands in everything that beta has, and nowhere in what acme is told. */
export const canary = "canary-of-beta";

const everything: Principal["scopes"] = new Set(["*"]);
/** By token. */
const principals: Readonly<Record<string, Principal>> = {
  alice: { tenant: "acme", project: "shop", name: "user:alice", keyId: "key_alice", scopes: everything, roles: ["finance"] },
  bob: { tenant: "beta", project: "shop", name: "user:bob", keyId: "key_bob", scopes: everything, roles: [] },
  operator: { tenant: "platform", project: "default", name: "user:op", keyId: "key_op", scopes: everything, roles: [] },
};

export class House {
  readonly corridor: Governed;
  readonly #door: HttpDoor;
  readonly #agent = new Agent({ keepAliveTimeout: 10_000 });
  readonly #ticking: NodeJS.Timeout;
  #port = 0;
  #waiting = 0;
  #ticks = false;
  /** Causes that no caller is told of: there must be none. */
  readonly causes: unknown[] = [];
  /** Ids of things that are there, by what a path calls them. */
  readonly ids: Record<string, string> = {};

  private constructor(corridor: Governed, worker: HandStream) {
    this.corridor = corridor;
    const { service } = corridor;
    const authenticate = async (token: string | undefined): Promise<Principal> => {
      const known = token !== undefined && Object.hasOwn(principals, token) ? principals[token] : undefined;
      if (known === undefined) throw new SignalboxError("unauthenticated", "the API key is not known here");
      return known;
    };
    const error = (fields: { readonly err?: unknown }, message: string): void =>
      void this.causes.push(fields.err ?? message);
    this.#door = createHttpDoor({
      service: { ...service, authenticate },
      host: "127.0.0.1",
      port: 0,
      log: { info: () => undefined, error },
      metricsOpen: true,
    });
    this.#ticking = setInterval(() => void this.#tick(worker), 3);
  }

  static async open(): Promise<House> {
    const corridor = await Governed.open({
      queueDepthPerTenantMax: 1_000,
      workerCapacityMax: 1_000,
      handlersPerWorkerMax: 100,
      workersPerTenantMax: 100,
    });
    await corridor.project("beta", "shop", "production");
    for (const tenant of ["acme", "beta"]) {
      const names = tenant === "beta" ? [`${canary}.tool`] : ["mirror", "asked"];
      for (const name of names) {
        const spec = { input: {}, side_effect_class: "read_only", output: {}, pure: name === "mirror" };
        await corridor.tool({ name, spec }, tenant);
      }
      for (const subject of ["user:alice", "user:bob"]) await corridor.grant(["*"], subject, tenant);
    }
    const worker = corridor.worker("w1", { tools: { pay: 50, mirror: 50, asked: 50 }, capacity: 200 });
    corridor.worker("w2", { tools: { [`${canary}.tool`]: 50 }, capacity: 200, tenant: "beta" });
    const house = new House(corridor, worker);
    ({ port: house.#port } = await house.#door.listen());
    await house.#furnish();
    return house;
  }

  /** Asks as one of the three would, with a deadline of its own; a stream is read for a moment. */
  async ask({ method, path, headers, body }: Request, as = "alice"): Promise<Heard> {
    this.#waiting++;
    const late = AbortSignal.timeout(10_000);
    try {
      const answer = await send(`http://127.0.0.1:${this.#port}${path}`, {
        method: method as "GET",
        headers: { authorization: `Bearer ${as}`, ...headers },
        ...(body === undefined ? {} : { body }),
        dispatcher: this.#agent,
        signal: late,
      });
      const streams = String(answer.headers["content-type"]).startsWith("text/event-stream");
      const text = streams ? await beginning(answer.body) : await answer.body.text();
      return { status: answer.statusCode, headers: answer.headers, text };
    } finally {
      this.#waiting--;
    }
  }

  async json(method: string, path: string, body?: unknown, as = "alice"): Promise<Readonly<Record<string, unknown>>> {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const heard = await this.ask({ method, path, headers, body: sent }, as);
    if (heard.status >= 300) throw new Error(`${method} ${path}: ${heard.status} ${heard.text}`);
    return JSON.parse(heard.text) as Record<string, unknown>;
  }

  async close(): Promise<void> {
    clearInterval(this.#ticking);
    await this.#agent.destroy();
    await this.#door.close(0);
    await this.corridor.close();
  }

  /** Something of every kind, in both tenants, so that an id of a path can mean something. */
  async #furnish(): Promise<void> {
    await this.corridor.policy({
      name: "ask-people",
      match: { tools: ["asked"] },
      then: { decision: "require_approval", reason: "look", approval: { route: "finance", approvals: 2 } },
    });
    const asking = { tool: "asked", input: { n: 1 }, mode: "async" };
    const parked = await this.json("POST", "/v1/executions", asking);
    this.ids["approval"] = String(parked["approval_id"]);
    const detail = await this.json("GET", `/v1/approvals/${this.ids["approval"]}`);
    this.ids["hash"] = String(detail["args_hash"]);
    const call = await this.json("POST", "/v1/executions", { tool: "mirror", input: { a: [1] }, idempotency_key: "first" });
    this.ids["call"] = String(call["execution_id"]);
    const own = { label: "ci", principal: "service:ci", scopes: ["tools:invoke"] };
    this.ids["key"] = String((await this.json("POST", "/v1/keys", own))["key_id"]);
    const grant = { subject: "service:ci", permissions: ["tool:invoke:mirror"] };
    this.ids["grant"] = String((await this.json("POST", "/v1/grants", grant))["grant_id"]);
    const hook = await this.json("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/hook" });
    this.ids["hook"] = String(hook["webhook_id"]);
    const file = await this.ask({ method: "PUT", path: "/v1/files", headers: { "content-type": "text/plain" }, body: Buffer.from("hello") });
    this.ids["file"] = String((JSON.parse(file.text) as { digest: string }).digest);
    for (const who of ["alice", "bob"]) {
      await this.json("PUT", "/v1/agents", agentDocument("clerk"), who);
      await this.json("POST", "/v1/agents/clerk/deploy", { version: "1.0.0" }, who);
    }
    this.ids["session"] = String((await this.json("POST", "/v1/sessions", { agent: "clerk" }))["session_id"]);
    this.ids["foreign_session"] = String((await this.json("POST", "/v1/sessions", { agent: "clerk", context: { secret: canary } }, "bob"))["session_id"]);
    const theirs = { tool: `${canary}.tool`, input: { secret: canary }, mode: "async" };
    this.ids["foreign"] = String((await this.json("POST", "/v1/executions", theirs, "bob"))["execution_id"]);
    await this.json("POST", "/v1/keys", { ...own, label: canary }, "bob");
    await this.json("POST", "/v1/webhooks", { url: `http://127.0.0.1:9/${canary}` }, "bob");
    const rule = policyDocument({ name: canary, match: { tools: ["nothing"] }, then: { decision: "deny", reason: canary } });
    await this.json("PUT", "/v1/policies", rule, "bob");
  }

  /** While somebody waits, a second goes by in every tick, and the worker does what it was given. */
  async #tick(worker: HandStream): Promise<void> {
    if (this.#ticks) return;
    this.#ticks = true;
    try {
      for (const message of worker.sent.splice(0)) if (message.type === "invoke") answer(worker, message);
      worker.say({ type: "heartbeat", load: 0, inFlight: [] });
      if (this.#waiting > 0) await this.corridor.clock.pass(1_000);
    } catch (error) {
      this.causes.push(error);
    } finally {
      this.#ticks = false;
    }
  }
}

function answer(worker: HandStream, { callId, fence, argsJson }: Invoke): void {
  worker.say({ type: "accepted", callId, fence });
  worker.say({ type: "started", callId, fence });
  worker.say({ type: "result", callId, fence, status: "succeeded", outputJson: argsJson, usage: { durationMs: 1 } });
}

const streamMsMax = 40;

async function beginning(body: AsyncIterable<Buffer> & { destroy(): unknown; on(event: "error", heard: () => void): unknown }): Promise<string> {
  let text = "";
  const stop = setTimeout(() => void body.destroy(), streamMsMax);
  body.on("error", () => undefined);
  try {
    for await (const chunk of body) text += chunk.toString();
  } catch {
    // Cut off by us.
  } finally {
    clearTimeout(stop);
  }
  return text;
}

