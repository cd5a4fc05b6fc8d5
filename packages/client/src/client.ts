// Asks a Signalbox runtime over HTTP: runs tools, looks at calls, and administers what governs them.
import { askWith, segment, spliced, textOf, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import { defaultPorts } from "./default-ports.ts";
import { files } from "./files.ts";
import type { FilesClient } from "./files.ts";
import { governance } from "./governance.ts";
import type { GovernanceClient } from "./governance.ts";
import { callStreams } from "./stream.ts";
import type { CallStreams } from "./stream-types.ts";
import { tools } from "./tools.ts";
import type { ToolsClient } from "./tools.ts";
import { clientLimits } from "./transport.ts";
import type { Answer, TransportPorts } from "./transport.ts";
import type {
  AuditQuery,
  AuditRecord,
  AuditVerdict,
  CreatedKey,
  EventPage,
  EventQuery,
  Execution,
  ExecutionDetail,
  ExecutionQuery,
  Grant,
  InvokeRequest,
  Key,
  NewGrant,
  NewKey,
  Page,
  ResolveRequest,
  RuntimeStatus,
  WithOutputText,
  Worker,
} from "./types.ts";

export interface ClientOptions {
  /** Where the runtime listens, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** An API key; without one only `status` of a runtime that shows it to everybody can work. */
  readonly key?: string;
  readonly fetch?: typeof globalThis.fetch;
  /** Reads answers; give one that keeps long numbers if `JSON.parse` is not enough. */
  readonly parse?: (json: string) => unknown;
  /** How often a repeatable request is sent at most, the first time included (4). */
  readonly attemptsMax?: number;
  /** How long one answer may take, on top of `wait_ms` (60 000). */
  readonly requestTimeoutMs?: number;
  /** Waiting, chance and time-outs, where the platform's own will not do. */
  readonly ports?: Partial<TransportPorts>;
}

export interface Client extends GovernanceClient, CallStreams {
  /**
   * Runs a tool. Resolves to a record that has ended well, or (`mode: "async"`, a parked call, a wait that was too
   * short) to one that has yet to end: look at `status`. `inputText` is sent in place of `input` as it is.
   * @throws SignalboxApiError when the call was refused or ended otherwise; `executionId` names its record, if there is one
   */
  invoke<Output = unknown>(
    request: InvokeRequest & { readonly inputText?: string },
    options?: AskOptions,
  ): Promise<WithOutputText<Execution<Output>>>;
  get<Output = unknown>(executionId: string, options?: AskOptions): Promise<WithOutputText<ExecutionDetail<Output>>>;
  list(query?: ExecutionQuery, options?: AskOptions): Promise<Page<Execution>>;
  events(executionId: string, query?: EventQuery, options?: AskOptions): Promise<EventPage>;
  /** Idempotent. The record is still open while the worker has yet to confirm that it stopped. */
  cancel(executionId: string, options?: AskOptions): Promise<Execution>;
  resolve(
    executionId: string,
    answer: ResolveRequest & { readonly outputText?: string },
    options?: AskOptions,
  ): Promise<Execution>;
  readonly tools: ToolsClient;
  readonly files: FilesClient;
  readonly keys: {
    list(options?: AskOptions): Promise<Page<Key>>;
    /** The secret is in this answer and nowhere else, ever. */
    create(key: NewKey, options?: AskOptions): Promise<CreatedKey>;
    revoke(keyId: string, options?: AskOptions): Promise<Key>;
  };
  readonly grants: {
    list(options?: AskOptions): Promise<Page<Grant>>;
    create(grant: NewGrant, options?: AskOptions): Promise<Grant>;
    revoke(grantId: string, options?: AskOptions): Promise<Grant>;
  };
  readonly audit: {
    list(query?: AuditQuery, options?: AskOptions): Promise<Page<AuditRecord>>;
    verify(options?: AskOptions): Promise<AuditVerdict>;
  };
  readonly workers: { list(options?: AskOptions): Promise<Page<Worker>> };
  status(options?: AskOptions): Promise<RuntimeStatus>;
}

function withOutputText<Record extends object>(answer: Answer): WithOutputText<Record> {
  const record = answer.body as Record;
  return { ...record, outputText: textOf(answer, "output") };
}

/** @throws TypeError when `url` is no http(s) URL */
export function createClient(options: ClientOptions): Client {
  const { protocol } = new URL(options.url);
  if (protocol !== "http:" && protocol !== "https:")
    throw new TypeError(`url must start with http:// or https://, not ${protocol}`);
  const ports: TransportPorts = {
    ...defaultPorts,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    ...(options.parse === undefined ? {} : { parse: options.parse }),
    ...options.ports,
  };
  const settings = {
    url: options.url,
    key: options.key,
    attemptsMax: options.attemptsMax ?? clientLimits.attemptsMax,
    requestTimeoutMs: options.requestTimeoutMs ?? clientLimits.requestTimeoutMs,
  };
  const ask = askWith(ports, settings);
  return {
    ...calls(ask),
    ...callStreams(ports, settings),
    ...administration(ask),
    ...governance(ask),
    tools: tools(ask),
    files: files(ask),
  };
}

function calls(ask: Ask): Pick<Client, "invoke" | "get" | "list" | "events" | "cancel" | "resolve"> {
  return {
    async invoke<Output>(
      { inputText, ...request }: InvokeRequest & { readonly inputText?: string },
      how?: AskOptions,
    ): Promise<WithOutputText<Execution<Output>>> {
      const answer = await ask(
        {
          method: "POST",
          path: "/v1/executions",
          bodyText: spliced(request, "input", inputText),
          repeatable: request.idempotency_key !== undefined,
          recordIsFinal: true,
          waitMs: request.wait_ms ?? 0,
        },
        how,
      );
      return withOutputText<Execution<Output>>(answer);
    },
    async get<Output>(id: string, how?: AskOptions): Promise<WithOutputText<ExecutionDetail<Output>>> {
      return withOutputText(await ask({ method: "GET", path: `/v1/executions/${segment(id)}`, repeatable: true }, how));
    },
    async list(query = {}, how) {
      const answer = await ask({ method: "GET", path: "/v1/executions", query: { ...query }, repeatable: true }, how);
      return answer.body as Page<Execution>;
    },
    async events(id, query = {}, how) {
      const path = `/v1/executions/${segment(id)}/events`;
      return (await ask({ method: "GET", path, query: { ...query }, repeatable: true }, how)).body as EventPage;
    },
    async cancel(id, how) {
      const path = `/v1/executions/${segment(id)}/cancel`;
      return (await ask({ method: "POST", path, bodyText: "{}", repeatable: true }, how)).body as Execution;
    },
    async resolve(id, { outputText, ...answer }, how) {
      const bodyText = spliced(answer, "output", outputText);
      const path = `/v1/executions/${segment(id)}/resolve`;
      return (await ask({ method: "POST", path, bodyText, repeatable: false }, how)).body as Execution;
    },
  };
}

function administration(ask: Ask): Pick<Client, "keys" | "grants" | "audit" | "workers" | "status"> {
  const { get, post, remove } = verbsOf(ask);
  return {
    keys: {
      list: async (how) => (await get("/v1/keys", undefined, how)) as Page<Key>,
      create: async (key, how) => (await post("/v1/keys", key, false, how)) as CreatedKey,
      revoke: async (keyId, how) => (await remove(`/v1/keys/${segment(keyId)}`, how)) as Key,
    },
    grants: {
      list: async (how) => (await get("/v1/grants", undefined, how)) as Page<Grant>,
      create: async (grant, how) => (await post("/v1/grants", grant, false, how)) as Grant,
      revoke: async (grantId, how) => (await remove(`/v1/grants/${segment(grantId)}`, how)) as Grant,
    },
    audit: {
      list: async (query = {}, how) => (await get("/v1/audit", { ...query }, how)) as Page<AuditRecord>,
      verify: async (how) => (await post("/v1/audit:verify", {}, true, how)) as AuditVerdict,
    },
    workers: { list: async (how) => (await get("/v1/workers", undefined, how)) as Page<Worker> },
    status: async (how) => (await get("/v1/status", undefined, how)) as RuntimeStatus,
  };
}
