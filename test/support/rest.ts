// The REST door as tests use it: one credential, bodies as data or as source text, answers kept whole, and all of it held
// against the API's document.
import { stringifyWithBigInts } from "@signalbox/protocol";
import { request, type Dispatcher } from "undici";
import { conformanceTo, type Conformance } from "./document.ts";

export interface ErrorTold {
  readonly code: string;
  readonly message: string;
  readonly type: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly request_id: string;
}

export interface AttemptTold {
  readonly attempt: number;
  readonly fence: number;
  readonly worker: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly end_reason: string | null;
}

export interface EventTold {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface PolicyTold {
  readonly decision: string;
  readonly reason: string;
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  readonly obligations?: Readonly<Record<string, unknown>>;
}

/** Every field that any answer may have; what an answer lacks is undefined. */
export interface Told {
  readonly execution_id?: string;
  readonly tool?: string;
  readonly version?: string;
  readonly status?: string;
  readonly output?: unknown;
  readonly error?: ErrorTold;
  readonly execution?: Readonly<Record<string, unknown>> & {
    readonly attempt: number;
    readonly worker: string | null;
    readonly limits: { readonly timeout_ms: number };
  };
  readonly cancel_requested_at?: string | null;
  readonly approval_id?: string | null;
  readonly args_hash?: string;
  readonly policy?: PolicyTold | null;
  /** Of an execution who changed its arguments, and into what; of an approval whether anybody did. */
  readonly edited?: unknown;
  readonly votes?: readonly Readonly<Record<string, unknown>>[];
  readonly may_not_vote?: string | null;
  readonly said?: string;
  readonly attempts?: readonly AttemptTold[];
  readonly late_results?: readonly { readonly fence: number; readonly status: string; readonly output: unknown }[];
  readonly items?: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor?: string | null;
  readonly [other: string]: unknown;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed text; numbers are doubles, so digits are looked for in `text`. */
  readonly body: Told;
}

export interface AskOptions {
  /** Data becomes JSON (bigints keep their digits); text and bytes go out as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Rest {
  ask(method: Dispatcher.HttpMethod, path: string, options?: AskOptions): Promise<Reply>;
  get(path: string): Promise<Reply>;
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  put(path: string, body: unknown): Promise<Reply>;
  delete(path: string): Promise<Reply>;
  /** POST /v1/executions */
  invoke(body: Readonly<Record<string, unknown>>, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** GET /v1/executions/{id} */
  call(id: string | undefined): Promise<Told>;
  events(id: string | undefined): Promise<readonly EventTold[]>;
  /** GET /v1/approvals/{id} */
  approval(id: string | null | undefined): Promise<Told>;
  /** POST /v1/approvals/{id}/votes */
  vote(id: string | null | undefined, body: Readonly<Record<string, unknown>>): Promise<Reply>;
  /** Calls a tool that people are to be asked about. @throws Error with the answer when the call does not park */
  park(tool: string, input: unknown, more?: Readonly<Record<string, unknown>>): Promise<Parked>;
  /** A vote on the arguments as they stand, unless `more` names others. */
  decide(id: string, decision: "approve" | "reject", more?: Readonly<Record<string, unknown>>): Promise<Reply>;
  /** Every record of the audit that the filter finds, newest first. */
  audit(filter?: Readonly<Record<string, string>>): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Asks for the call again until it is in one of these states.
   * @throws Error with the last state when that takes longer than `waitMs`
   */
  until(id: string | undefined, states: readonly string[], waitMs?: number): Promise<Told>;
}

/** A call that waits for people. */
export interface Parked {
  readonly id: string;
  readonly approvalId: string;
}

/** How often `until` asks; the runtime has no way to be told of an end other than a waiting invoke. */
const lookEveryMs = 25;

let conformance: Conformance | undefined;

/** The API's document, against which every answer of every door is held. */
export const apiDocument = (): Conformance => (conformance ??= conformanceTo());

/** @throws Error (from every question) where an answer, or a request that was served, is not as the document says */
export function createRest(url: () => string, key: string): Rest {
  const ask: Rest["ask"] = async (method, path, { body, headers = {}, signal } = {}) => {
    const sent =
      body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : stringifyWithBigInts(body);
    const answer = await request(`${url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      ...(signal === undefined ? {} : { signal }),
      // A call may last longer than undici's own patience.
      headersTimeout: 120_000,
    });
    const text = await answer.body.text();
    const { statusCode: status, headers: told } = answer;
    const json = typeof sent === "string" && (headers["content-type"] ?? "application/json") === "application/json";
    if (method !== "HEAD")
      apiDocument().check({
        method,
        path,
        sent: json ? sent : undefined,
        status,
        headers: told,
        text,
      });
    return { status, headers: told, text, body: parsed(text) };
  };
  return restOver(ask);
}

/** Everything that tests ask, whatever way a request goes. */
export function restOver(ask: Rest["ask"]): Rest {
  const call: Rest["call"] = async (id) => (await ask("GET", `/v1/executions/${id ?? ""}`)).body;
  const until: Rest["until"] = async (id, states, waitMs = 10_000) => {
    const giveUpAt = performance.now() + waitMs;
    for (;;) {
      const told = await call(id);
      if (told.status !== undefined && states.includes(told.status)) return told;
      if (performance.now() > giveUpAt)
        throw new Error(`${id} is ${told.status ?? told.error?.code} after ${waitMs} ms, not ${states.join(" or ")}`);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  };
  return {
    ask,
    get: (path) => ask("GET", path),
    post: (path, body, headers) => ask("POST", path, { body, ...(headers === undefined ? {} : { headers }) }),
    put: (path, body) => ask("PUT", path, { body }),
    delete: (path) => ask("DELETE", path),
    invoke: (body, headers) => ask("POST", "/v1/executions", { body, ...(headers === undefined ? {} : { headers }) }),
    call,
    approval: async (id) => (await ask("GET", `/v1/approvals/${id ?? ""}`)).body,
    vote: (id, body) => ask("POST", `/v1/approvals/${id ?? ""}/votes`, { body }),
    async park(tool, input, more = {}) {
      const { status, text, body } = await ask("POST", "/v1/executions", { body: { tool, input, ...more } });
      const { execution_id: id, approval_id: approvalId } = body;
      if (status !== 202 || body.status !== "awaiting_approval" || id === undefined || typeof approvalId !== "string")
        throw new Error(`the call of ${tool} was not parked: ${status} ${text}`);
      return { id, approvalId };
    },
    async decide(id, decision, more = {}) {
      const { args_hash } = (await ask("GET", `/v1/approvals/${id}`)).body;
      return ask("POST", `/v1/approvals/${id}/votes`, { body: { decision, args_hash, ...more } });
    },
    async events(id) {
      const { items = [] } = (await ask("GET", `/v1/executions/${id ?? ""}/events?limit=100`)).body;
      return items as unknown as readonly EventTold[];
    },
    async audit(filter = {}) {
      const records: Readonly<Record<string, unknown>>[] = [];
      for (let cursor: string | null | undefined = ""; typeof cursor === "string";) {
        const query: string = new URLSearchParams({
          limit: "100",
          ...filter,
          ...(cursor === "" ? {} : { cursor }),
        }).toString();
        const { items = [], next_cursor }: Told = (await ask("GET", `/v1/audit?${query}`)).body;
        records.push(...items);
        cursor = next_cursor;
      }
      return records;
    },
    until,
  };
}

/** What is no JSON is an empty answer. */
export function parsed(text: string): Told {
  try {
    return JSON.parse(text) as Told;
  } catch {
    return {};
  }
}
