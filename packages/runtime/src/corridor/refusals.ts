// Refusals before a call exists: each is an error for the caller and a line in the audit.
import { SignalboxError } from "@signalbox/protocol";
import type { AuditDraft } from "../call/audit-draft.ts";
import type { Ledger } from "../ledger/port.ts";
import type { Principal, Scope } from "../tenancy/types.ts";
import { platformTenant } from "../tenancy/types.ts";
import type { Clock, Log, Meters } from "./ports.ts";

export interface RefusalPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly log: Log;
}

/** Records of failed logins per second at most; what is above is counted and told by the next record. */
const loginRecordsPerSecondMax = 10;
/** The same for each suspended tenant: its programs go on asking, and know nothing of it. */
const suspendedRecordsPerSecondMax = 1;

/** Lets so many through in a second, and tells how many it held back before. */
class Sparing {
  readonly #perSecondMax: number;
  #second = 0;
  #inSecond = 0;
  #held = 0;

  constructor(perSecondMax: number) {
    this.#perSecondMax = perSecondMax;
  }

  /** Undefined: not this one. */
  take(now: number): { readonly details?: { readonly not_recorded_before: number } } | undefined {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) [this.#second, this.#inSecond] = [second, 0];
    if (++this.#inSecond > this.#perSecondMax) {
      this.#held++;
      return undefined;
    }
    const held = this.#held;
    this.#held = 0;
    return held > 0 ? { details: { not_recorded_before: held } } : {};
  }
}

export class Refusals {
  readonly #ports: RefusalPorts;
  readonly #logins = new Sparing(loginRecordsPerSecondMax);
  /** By tenant; as many as were suspended since the start. */
  readonly #suspended = new Map<string, Sparing>();

  constructor(ports: RefusalPorts) {
    this.#ports = ports;
  }

  /** Writes the refusal down and throws it. The write is stored before the caller hears; a refusal stands even when it fails. */
  async refuse(
    principal: Principal,
    requestId: string,
    error: SignalboxError,
    facts: Partial<Pick<AuditDraft, "tool" | "version" | "inputHash" | "details" | "project">> = {},
  ): Promise<never> {
    const draft: AuditDraft = {
      ts: this.#ports.clock.now(),
      tenant: principal.tenant,
      project: facts.project ?? principal.project,
      principal: principal.name,
      // A refusal for a scope may concern any request; the others are of calls.
      action: facts.tool === undefined ? "request.refused" : "call.refused",
      errorCode: error.code,
      status: "refused",
      requestId,
      ...facts,
    };
    if (error.code === "forbidden") this.#ports.meters.count("authorization_denied_total", { reason: reasonOf(error) });
    await this.#write(draft);
    throw error;
  }

  /** @throws SignalboxError forbidden, with `details.missing_scope` */
  async requireScope(principal: Principal, scope: Scope, requestId: string): Promise<void> {
    if (hasScope(principal, scope)) return;
    const error = new SignalboxError("forbidden", `this key lacks the scope ${scope}`, { details: { missing_scope: scope } });
    await this.refuse(principal, requestId, error, { details: { missing_scope: scope } });
  }

  /** A failed login belongs to no tenant; bounded, so that nobody can fill the disk from outside. */
  loginRefused(code: string, requestId: string): void {
    const now = this.#ports.clock.now();
    this.#ports.meters.count("authorization_denied_total", { reason: code });
    const room = this.#logins.take(now);
    if (room === undefined) return;
    const draft: AuditDraft = {
      ts: now,
      tenant: platformTenant,
      project: "",
      principal: "anonymous",
      action: "auth.refused",
      errorCode: code,
      status: "refused",
      requestId,
      ...room,
    };
    void this.#write(draft);
  }

  /** A key of a suspended tenant; bounded like failed logins. @returns what to throw */
  suspended({ tenant, project, name }: Principal, requestId: string): SignalboxError {
    const now = this.#ports.clock.now();
    const reason = "tenant_suspended";
    this.#ports.meters.count("authorization_denied_total", { reason });
    let sparing = this.#suspended.get(tenant);
    if (sparing === undefined) this.#suspended.set(tenant, (sparing = new Sparing(suspendedRecordsPerSecondMax)));
    const room = sparing.take(now);
    if (room !== undefined) {
      const base = { ts: now, tenant, project, principal: name, action: "request.refused", errorCode: "forbidden" };
      void this.#write({ ...base, status: "refused", requestId, details: { reason, ...room.details } });
    }
    return new SignalboxError("forbidden", "this tenant is suspended; whoever runs the runtime can resume it", {
      details: { reason },
    });
  }

  async #write(draft: AuditDraft): Promise<void> {
    try {
      await this.#ports.ledger.commit({ writes: [{ op: "append_audit", draft }] });
    } catch (error) {
      this.#ports.log.error({ reason: String(error), action: draft.action, error_code: draft.errorCode }, "a refusal could not be audited");
    }
  }
}

/** `scope`, or what of the request the credential does not reach: `tenant`, `project`. */
function reasonOf(error: SignalboxError): string {
  const field = error.details?.["field"];
  return typeof field === "string" ? field : "scope";
}

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.has("*") || principal.scopes.has(scope);
}
