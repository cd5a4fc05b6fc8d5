// The administration of policies with real parts (SQLite in a folder of its own, catalog, directory, book) and a clock by hand.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256 } from "../../packages/runtime/src/adapters/system/crypto.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { AgentBook } from "../../packages/runtime/src/corridor/sessions/agent-book.ts";
import { Catalog } from "../../packages/runtime/src/corridor/catalog.ts";
import type { PolicyPorts } from "../../packages/runtime/src/corridor/policy-admin.ts";
import { publishPolicy } from "../../packages/runtime/src/corridor/policy-admin-publish.ts";
import { Locks } from "../../packages/runtime/src/corridor/locks.ts";
import { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import type { ProjectPorts } from "../../packages/runtime/src/corridor/projects.ts";
import { Refusals } from "../../packages/runtime/src/corridor/refusals.ts";
import type { AuditRecord } from "../../packages/runtime/src/ledger/audit.ts";
import type { GuardedWrite } from "../../packages/runtime/src/ledger/port.ts";
import { readManifest } from "../../packages/runtime/src/registry/manifest.ts";
import { Directory } from "../../packages/runtime/src/tenancy/directory.ts";
import { newTenant } from "../../packages/runtime/src/tenancy/tenant.ts";
import type { Asked, Grant, Key, Principal } from "../../packages/runtime/src/tenancy/types.ts";
import { HandClock } from "./hand-clock.ts";

/** Monday, 2 March 2026, noon UTC. */
export const noon = Date.UTC(2026, 2, 2, 12);

/** Somebody of acme, project shop. */
export function by(principal: Partial<Principal> = {}): Asked {
  const ann: Principal = {
    tenant: "acme",
    project: "shop",
    name: "user:ann",
    keyId: "key_1",
    scopes: new Set(["tools:read"]),
    roles: [],
  };
  return { requestId: "req_7", principal: { ...ann, ...principal } };
}

export const owner = by({ name: "user:own", scopes: new Set(["policies:write", "tools:read"]) });
export const operator = by({ tenant: "platform", project: "", name: "user:operator", scopes: new Set(["*"]) });

export interface Paper {
  readonly name?: string;
  readonly version?: string;
  readonly level?: string;
  readonly project?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A tenant's policy that denies `pay`, unless told otherwise. */
export function paper({ name = "rule", version = "1.0.0", level = "tenant", project, spec = {} }: Paper = {}) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Policy",
    metadata: { name, version, level, ...(project === undefined ? {} : { project }) },
    spec: { match: { tools: ["pay"] }, then: { decision: "deny", reason: `because of ${name}` }, ...spec },
  };
}

export class PolicyOffice {
  readonly clock = new HandClock(noon);
  readonly ledger: SqliteLedger;
  readonly ports: PolicyPorts & Pick<ProjectPorts, "counting"> & { readonly agents: AgentBook };
  changes = 0;
  readonly #folder = mkdtempSync(join(tmpdir(), "policies-"));
  #made = 0;

  constructor() {
    const { clock } = this;
    this.ledger = new SqliteLedger({
      path: join(this.#folder, "ledger.db"),
      auditKey: Buffer.alloc(32, 7),
      lane: "r1",
      now: () => clock.now(),
    });
    const meters = { count: () => undefined, observe: () => undefined, text: async () => "" };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    this.ports = {
      ledger: this.ledger,
      catalog: new Catalog(this.ledger, sha256),
      agents: new AgentBook(this.ledger),
      directory: new Directory(this.ledger, sha256),
      refusals: new Refusals({ ledger: this.ledger, clock, meters, log }),
      clock,
      hash: sha256,
      policies: new PolicyBook(() => void this.changes++),
      counting: new Locks(),
    };
  }

  static async open(): Promise<PolicyOffice> {
    const office = new PolicyOffice();
    await office.write({ op: "insert_tenant", row: newTenant("acme", 1, noon) });
    await office.write({
      op: "insert_project",
      row: { tenant: "acme", project: "shop", environment: "production", createdAt: noon },
    });
    await office.ports.policies.load(office.ledger);
    return office;
  }

  async close(): Promise<void> {
    await this.ledger.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async write(write: GuardedWrite): Promise<void> {
    const outcome = await this.ledger.commit({ writes: [write] });
    if (!outcome.applied) throw new Error(`${write.op} was refused`);
  }

  /** An active version of a tool; `input` are the properties of its arguments, all of them required. */
  async tool(
    name: string,
    input: Readonly<Record<string, unknown>> = { amount: { type: "number" } },
    more: { readonly tenant?: string; readonly version?: string; readonly spec?: object } = {},
  ): Promise<void> {
    const { tenant = "acme", version = "1.0.0", spec = {} } = more;
    const schema = {
      type: "object",
      properties: input,
      required: Object.keys(input),
      additionalProperties: false,
    };
    const document = {
      apiVersion: "signalbox.dev/v1",
      kind: "Tool",
      metadata: { name, version, owner: "team", description: `Does ${name}.` },
      spec: { executor: { type: "worker" }, input: schema, side_effect_class: "irreversible_action", ...spec },
    };
    const read = readManifest(document);
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    await this.write({
      op: "insert_tool_version",
      activate: true,
      row: {
        tenant,
        tool: name,
        version,
        metadata: read.metadata,
        spec: read.spec,
        manifestDigest: sha256(JSON.stringify(document)), packageDigest: null,
        trust: "first_party",
        status: "active",
        publishedAt: this.clock.now(),
        publishedBy: "user:own",
      },
    });
  }

  async grant(subject: string, permissions: readonly string[], more: Partial<Grant> = {}): Promise<void> {
    const row: Grant = {
      tenant: "acme",
      grantId: `grant_${++this.#made}`,
      subject,
      project: "",
      permissions,
      roles: [],
      createdAt: noon,
      createdBy: "user:root",
      expiresAt: null,
      revokedAt: null,
      ...more,
    };
    await this.write({ op: "insert_grant", row });
    this.ports.directory.changed(row.tenant);
  }

  async key(principal: string, more: Partial<Key> = {}): Promise<void> {
    const keyId = `key_${++this.#made}`;
    const row: Key = {
      tenant: "acme",
      keyId,
      hash: keyId.padEnd(64, "0"),
      label: "",
      principal,
      project: "shop",
      scopes: ["tools:invoke"],
      roles: [],
      createdAt: noon,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      ...more,
    };
    await this.write({ op: "insert_key", row });
    this.ports.directory.changed(row.tenant);
  }

  /** Publishes, and asserts nothing. */
  publish(given: Paper = {}, asked: Asked = owner, options: { readonly dryRun?: boolean } = {}) {
    return publishPolicy(this.ports, asked, paper(given), options);
  }

  /** Newest first. */
  async audit(tenant = "acme"): Promise<readonly AuditRecord[]> {
    return (await this.ledger.listAudit({ tenant }, 100)).items;
  }
}

/** Two people of finance for payments above 1000. */
export const guard = {
  name: "payments-need-a-person",
  spec: {
    match: { tools: ["pay"] },
    when: "args.amount > 1000.0",
    then: {
      decision: "require_approval",
      reason: "Payments above 1000 need a person",
      approval: { route: "finance", approvals: 2, timeout: "1h" },
    },
  },
};
