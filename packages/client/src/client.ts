// Asks a Signalbox runtime over HTTP: runs tools, looks at calls, and administers what governs them.
import { agents } from "./agents.ts";
import type { AgentsClient } from "./agents.ts";
import { askWith, segment, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import type { AnyTools, ToolMap } from "./call-types.ts";
import { calls } from "./calls.ts";
import type { CallsClient } from "./calls.ts";
import { defaultPorts } from "./default-ports.ts";
import { files } from "./files.ts";
import type { FilesClient } from "./files.ts";
import { governance } from "./governance.ts";
import type { GovernanceClient } from "./governance.ts";
import { metering } from "./limits.ts";
import type { MeteringClient } from "./limits.ts";
import { lister } from "./paged.ts";
import type { Lister } from "./paged.ts";
import { retryDefaults, retrySettings } from "./retry.ts";
import type { RetryOptions } from "./retry.ts";
import { sessionFollower } from "./session-stream.ts";
import { sessions } from "./sessions.ts";
import type { SessionsClient } from "./sessions.ts";
import { callStreams } from "./stream.ts";
import { tenants } from "./tenants.ts";
import type { TenantsClient } from "./tenants.ts";
import { tools } from "./tools.ts";
import type { ToolsClient } from "./tools.ts";
import { clientLimits } from "./transport.ts";
import type { TransportPorts } from "./transport.ts";
import type {
  AuditQuery,
  AuditRecord,
  AuditVerdict,
  CreatedKey,
  Grant,
  Key,
  KeyQuery,
  NewGrant,
  NewKey,
  Page,
  RuntimeStatus,
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
  /** Writes requests; give one that knows bigints if `JSON.stringify` is not enough. */
  readonly stringify?: (value: unknown) => string;
  /** How a request that may be repeated is: `invoke`, `stream`, and all that changes nothing by being said twice. */
  readonly retry?: RetryOptions;
  /** How long one answer may take, on top of `wait_ms` (60 000). */
  readonly requestTimeoutMs?: number;
  /** Waiting, clocks, chance and time-outs, where the platform's own will not do. */
  readonly ports?: Partial<TransportPorts>;
}

/** @typeParam Tools maps names of tools to `{ input, output }`; then `invoke` and `stream` take nothing else */
export interface Client<Tools extends ToolMap<Tools> = AnyTools> extends GovernanceClient, MeteringClient, CallsClient<Tools> {
  readonly tools: ToolsClient;
  readonly agents: AgentsClient;
  readonly sessions: SessionsClient;
  readonly files: FilesClient;
  readonly tenants: TenantsClient;
  readonly keys: {
    readonly list: Lister<Key, KeyQuery>;
    /** The secret is in this answer and nowhere else, ever. */
    create(key: NewKey, options?: AskOptions): Promise<CreatedKey>;
    revoke(keyId: string, options?: AskOptions): Promise<Key>;
  };
  readonly grants: {
    readonly list: Lister<Grant>;
    create(grant: NewGrant, options?: AskOptions): Promise<Grant>;
    revoke(grantId: string, options?: AskOptions): Promise<Grant>;
  };
  readonly audit: {
    readonly list: Lister<AuditRecord, AuditQuery>;
    verify(options?: AskOptions): Promise<AuditVerdict>;
  };
  readonly workers: { readonly list: Lister<Worker> };
  status(options?: AskOptions): Promise<RuntimeStatus>;
}

/** @throws TypeError when `url` is no http(s) URL, or a number of `retry` is none */
export function createClient<Tools extends ToolMap<Tools> = AnyTools>(options: ClientOptions): Client<Tools> {
  const { protocol } = new URL(options.url);
  if (protocol !== "http:" && protocol !== "https:")
    throw new TypeError(`url must start with http:// or https://, not ${protocol}`);
  const ports: TransportPorts = {
    ...defaultPorts,
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    ...(options.parse === undefined ? {} : { parse: options.parse }),
    ...(options.stringify === undefined ? {} : { stringify: options.stringify }),
    ...options.ports,
  };
  const settings = {
    url: options.url,
    key: options.key,
    retry: retrySettings(retryDefaults, options.retry),
    requestTimeoutMs: options.requestTimeoutMs ?? clientLimits.requestTimeoutMs,
  };
  const ask = askWith(ports, settings);
  return {
    ...calls<Tools>(ask, ports, callStreams(ports, settings)),
    ...administration(ask),
    ...governance(ask),
    ...metering(ask),
    tools: tools(ask),
    agents: agents(ask),
    sessions: sessions(ask, sessionFollower(ports, settings)),
    files: files(ask),
    tenants: tenants(ask),
  };
}

function administration(ask: Ask): Pick<Client, "keys" | "grants" | "audit" | "workers" | "status"> {
  const { get, post, remove } = verbsOf(ask);
  return {
    keys: {
      list: lister(async (query, how) => (await get("/v1/keys", { ...query }, how)) as Page<Key>),
      create: async (key, how) => (await post("/v1/keys", key, false, how)) as CreatedKey,
      revoke: async (keyId, how) => (await remove(`/v1/keys/${segment(keyId)}`, how)) as Key,
    },
    grants: {
      list: lister(async (query, how) => (await get("/v1/grants", { ...query }, how)) as Page<Grant>),
      create: async (grant, how) => (await post("/v1/grants", grant, false, how)) as Grant,
      revoke: async (grantId, how) => (await remove(`/v1/grants/${segment(grantId)}`, how)) as Grant,
    },
    audit: {
      list: lister(async (query, how) => (await get("/v1/audit", { ...query }, how)) as Page<AuditRecord>),
      verify: async (how) => (await post("/v1/audit:verify", {}, true, how)) as AuditVerdict,
    },
    workers: { list: lister(async (query, how) => (await get("/v1/workers", { ...query }, how)) as Page<Worker>) },
    status: async (how) => (await get("/v1/status", undefined, how)) as RuntimeStatus,
  };
}
