// Lets a credential in: who it is, and that its tenant may ask at all; every refusal is written down.
import { errorTable, SignalboxError } from "@signalbox/protocol";
import type { Hub } from "../dispatch/hub.ts";
import type { Directory } from "../tenancy/directory.ts";
import type { Principal } from "../tenancy/types.ts";
import { storable } from "./invoke.ts";
import type { Clock } from "./ports.ts";
import type { Refusals } from "./refusals.ts";

export interface EntryPorts {
  readonly directory: Directory;
  readonly hub: Pick<Hub, "isSuspended">;
  readonly refusals: Refusals;
  readonly clock: Clock;
}

async function principalOf(ports: EntryPorts, token: string | undefined, requestId: string): Promise<Principal> {
  try {
    return await storable(ports.directory.authenticate(token, ports.clock.now()));
  } catch (error) {
    if (error instanceof SignalboxError && errorTable[error.code].http === 401)
      ports.refusals.loginRefused(error.code, requestId);
    throw error;
  }
}

/** @throws SignalboxError unauthenticated · token_expired · key_revoked; forbidden while its tenant is suspended */
export async function authenticate(
  ports: EntryPorts,
  token: string | undefined,
  requestId: string,
): Promise<Principal> {
  const principal = await principalOf(ports, token, requestId);
  if (ports.hub.isSuspended(principal.tenant)) throw ports.refusals.suspended(principal, requestId);
  return principal;
}

/**
 * For a Work stream, of a suspended tenant too: what its workers hold must be able to end, and a stream that breaks
 * meanwhile would make unsafe calls of unknown outcome. They are given nothing new.
 * @throws SignalboxError as `authenticate` does, and forbidden without the scope workers:connect
 */
export async function admitWorker(ports: EntryPorts, token: string | undefined, requestId: string): Promise<Principal> {
  const principal = await principalOf(ports, token, requestId);
  await ports.refusals.requireScope(principal, "workers:connect", requestId);
  return principal;
}
