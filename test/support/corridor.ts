// The whole corridor with real parts (SQLite in a folder of its own, hub, driver, directory, catalog), a clock by hand and workers by hand.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignalboxError } from "@signalbox/protocol";
import { systemCalendar } from "../../packages/runtime/src/adapters/system/calendar.ts";
import { base64url, sha256, systemChance } from "../../packages/runtime/src/adapters/system/crypto.ts";
import { createSeal } from "../../packages/runtime/src/adapters/system/seal.ts";
import { webhookDoor } from "../../packages/runtime/src/adapters/webhooks/door.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { ContentStore } from "../../packages/runtime/src/corridor/files-ports.ts";
import type { Labels } from "../../packages/runtime/src/corridor/ports.ts";
import type { HubLimits } from "../../packages/runtime/src/dispatch/types.ts";
import type { AuditRecord } from "../../packages/runtime/src/ledger/audit.ts";
import type { SessionClaim } from "../../packages/runtime/src/ledger/sessions.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { Models } from "../../packages/runtime/src/session/model.ts";
import { createRuntime, type Runtime } from "../../packages/runtime/src/runtime.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import type { Asked, InvokeAnswer, InvokeRequest, Service } from "../../packages/runtime/src/service.ts";
import type { Principal } from "../../packages/runtime/src/tenancy/types.ts";
import { at0 } from "./calls.ts";
import { HandClock, settled } from "./hand-clock.ts";
import { hubLimits, register, type WorkerSays } from "./hand-hub.ts";
import { HandStream } from "./hand-stream.ts";
import { lazyStore } from "./lazy-store.ts";

/** The real ledger, with a switch that stands for a disk that is full, and one for a store that cannot be read. */
class SwitchedLedger extends SqliteLedger {
  full = false;
  unreadable = false;
  /** Units and claims of sessions that were handed over since the death was set, or since the beginning. */
  handed = 0;
  #death: Death | undefined;
  #dead = false;

  /** From the `at`-th of them on, counted from now, the process is as good as dead; whether that one was stored nobody hears. */
  dieAt(death: Death): void {
    this.handed = 0;
    this.#death = death;
  }
  get dead(): boolean {
    return this.#dead;
  }

  override async commit(unit: Unit): Promise<CommitOutcome> {
    if (this.full) throw new LedgerUnavailable("the disk is full");
    return this.#unlessDead(() => super.commit(unit));
  }
  override async claimSession(claim: SessionClaim) {
    return this.#unlessDead(() => super.claimSession(claim));
  }
  async #unlessDead<T>(store: () => Promise<T>): Promise<T> {
    this.handed += 1;
    const gone = (): LedgerUnavailable => new LedgerUnavailable("the process has died");
    if (this.#dead) throw gone();
    if (this.#death === undefined || this.handed < this.#death.at) return store();
    this.#dead = true;
    if (this.#death.stored) await store();
    throw gone();
  }
  override async probe(): Promise<void> {
    if (this.full) throw new LedgerUnavailable("the disk is full");
    return super.probe();
  }
  override async grants(tenant: string) {
    if (this.unreadable) throw new LedgerUnavailable("the store is away");
    return super.grants(tenant);
  }
  override async keyByHash(hash: string) {
    if (this.unreadable) throw new LedgerUnavailable("the store is away");
    return super.keyByHash(hash);
  }
}

export interface Death {
  /** Counts from 1. */
  readonly at: number;
  readonly stored: boolean;
}

export interface ToolText {
  readonly name?: string;
  readonly version?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** `pay@1.0.0`: takes an amount and perhaps a note, may not be repeated, and asks for nothing. */
export function manifest({ name = "pay", version = "1.0.0", spec = {} }: ToolText = {}) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name, version, owner: "team-pay", description: "Pays an amount." },
    spec: {
      executor: { type: "worker" },
      input: {
        type: "object",
        properties: { amount: { type: "number" }, note: { type: "string" } },
        required: ["amount"],
        additionalProperties: false,
      },
      side_effect_class: "non_idempotent_write",
      timeout: "20s",
      ...spec,
    },
  };
}

export class Corridor {
  readonly clock: HandClock;
  readonly ledger: SwitchedLedger;
  readonly store: ContentStore;
  readonly runtime: Runtime;
  readonly service: Service;
  readonly figures: (readonly [name: string, labels: Labels])[] = [];
  readonly logged: string[] = [];
  readonly #folder: string;
  #grants = 0;

  /** @param before a corridor that was killed: its data folder and its clock go on */
  constructor(limits: Partial<HubLimits> = {}, before?: Corridor, models?: Models) {
    const clock = before?.clock ?? new HandClock(at0);
    this.clock = clock;
    this.#folder = before === undefined ? mkdtempSync(join(tmpdir(), "corridor-")) : before.#folder;
    this.ledger = new SwitchedLedger({ path: join(this.#folder, "ledger.db"), auditKey: Buffer.alloc(32, 7), lane: "r1", now: () => clock.now() });
    this.store = lazyStore(join(this.#folder, "store"));
    const log = (_fields: object, message: string): void => void this.logged.push(message);
    this.runtime = createRuntime({
      replica: "r1",
      version: "0.0.0",
      ledger: this.ledger,
      line: new FairLine(),
      clock,
      chance: systemChance(),
      hash: sha256,
      base64url,
      meters: {
        count: (name, labels = {}) => void this.figures.push([name, labels]),
        observe: () => undefined,
        text: async () => "",
      },
      log: { info: log, warn: log, error: log },
      calendar: systemCalendar(),
      limits: { ...hubLimits, ...limits },
      webhookDoor: webhookDoor({ version: "0.0.0", allowPrivate: true }),
      seal: createSeal(Buffer.alloc(32, 7), "webhooks"),
      cursorSeal: createSeal(Buffer.alloc(32, 7), "cursors"),
      store: this.store,
      ...(models === undefined ? {} : { models }),
    });
    this.service = this.runtime.service;
    // No rules, which is something else than rules that cannot be had; done before the first call of any test.
    void this.runtime.policies.load(this.ledger);
  }

  /** What has been set off by now has come to its end: commits, what follows them, and what that sets off. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 6; turns++) {
      await settled();
      await this.ledger.flush();
    }
  }

  /** Ends the process, as far as anybody outside can tell; what the ledger has is all that is left. */
  async kill(): Promise<void> {
    await this.runtime.stop();
    await this.ledger.close();
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Registers a tool of `acme` (or of another tenant) and makes it active. */
  async tool(text: ToolText = {}, tenant = "acme"): Promise<void> {
    await this.service.registerTool(asked({ tenant, scopes: new Set(["tools:write"]) }), manifest(text), {});
  }

  async grant(permissions: readonly string[], subject = "user:ann", tenant = "acme"): Promise<string> {
    const grantId = `grant_${++this.#grants}`;
    const row = { tenant, grantId, subject, project: "", permissions, roles: [], createdAt: at0, createdBy: "user:root", expiresAt: null, revokedAt: null };
    await this.ledger.commit({ writes: [{ op: "insert_grant", row }] });
    this.runtime.directory.changed(tenant);
    return grantId;
  }

  worker(workerId: string, says: WorkerSays = {}): HandStream {
    const stream = new HandStream();
    this.runtime.driver.attach(stream, { tenant: says.tenant ?? "acme", principal: "service:worker" });
    stream.say(register(workerId, says));
    return stream;
  }

  invoke(request: Partial<InvokeRequest> = {}, by: Asked = asked()): Promise<InvokeAnswer> {
    return this.service.invoke(by, { tool: "pay", input: { amount: 5 }, mode: "async", ...request });
  }

  async rows(tenant = "acme"): Promise<readonly Call[]> {
    return (await this.ledger.listCalls({ tenant }, 100)).items;
  }

  /** Newest first, without what makes the chain. */
  async audit(tenant = "acme"): Promise<Partial<AuditRecord>[]> {
    const { items } = await this.ledger.listAudit({ tenant }, 100);
    return items.map(({ lane: _lane, seq: _seq, prevHash: _prevHash, hash: _hash, ...draft }) => draft);
  }

  async eventsOf(callId: string): Promise<(readonly [type: string, data: unknown])[]> {
    const events = await this.ledger.events("acme", callId, 0, 100);
    return events.map((event) => [event.type, JSON.parse(event.dataJson)] as const);
  }
}

/** Ann's request: a key of acme, project shop, that may invoke. */
export function asked(principal: Partial<Principal> = {}, more: Partial<Asked> = {}): Asked {
  return {
    requestId: "req_7",
    principal: { tenant: "acme", project: "shop", name: "user:ann", keyId: "key_1", scopes: new Set(["tools:invoke"]), roles: [], ...principal },
    ...more,
  };
}

export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly executionId: string | undefined;
}

/** The error that a request must be answered with. */
export async function refusal(asking: Promise<unknown>): Promise<Refused> {
  try {
    await asking;
  } catch (error) {
    if (!(error instanceof SignalboxError)) throw error;
    const { code, message, details, executionId } = error;
    return { code, message, details, executionId };
  }
  throw new Error("the request was not refused");
}
