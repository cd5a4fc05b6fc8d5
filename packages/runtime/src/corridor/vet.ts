// Checks, when a worker registers, which of the tools it offers it may run; the hub asks the same again for every call.
import type { AuditDraft } from "../call/audit-draft.ts";
import { isTrusted } from "../dispatch/choose.ts";
import type { Ledger } from "../ledger/port.ts";
import type { Vetting } from "./driver-ports.ts";
import type { Clock, Log, Meters } from "./ports.ts";

export interface VetPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly meters: Meters;
}

type Offered = Vetting["handlers"][number];

/** @returns the handlers that are refused; one audit record tells of all of them */
export async function vet(ports: VetPorts, offer: Vetting): Promise<readonly Offered[]> {
  const { ledger, clock, log, meters } = ports;
  const { identity, imageDigest, handlers } = offer;
  const refused: Offered[] = [];
  for (const handler of handlers) {
    const version = await ledger.toolVersion(identity.tenant, handler.tool, handler.version);
    if (version === undefined || isTrusted(version.spec.integrity, { identity, imageDigest })) continue;
    refused.push(handler);
  }
  if (refused.length === 0) return refused;
  const names = refused.map(({ tool, version }) => `${tool}@${version}`);
  meters.count("integrity_violations_total", {}, refused.length);
  log.warn({ principal: identity.principal, handlers: names }, "a worker offered tools that it may not run; it gets no calls of them");
  const draft: AuditDraft = {
    ts: clock.now(),
    tenant: identity.tenant,
    project: "",
    principal: identity.principal,
    action: "worker.refused",
    status: "refused",
    errorCode: "integrity_violation",
    details: { handlers: names.slice(0, namesMax), image_digest: imageDigest },
  };
  await ledger.commit({ writes: [{ op: "append_audit", draft }] });
  return refused;
}

/** Tools that the record names; a worker may offer a thousand. */
const namesMax = 50;
