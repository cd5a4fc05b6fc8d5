// Lets a credential in: who it is, and that its tenant may ask at all; every refusal is written down.
import { errorTable, SignalboxError } from "@signalbox/protocol";
import type { Hub } from "../dispatch/hub.ts";
import type { Directory } from "../tenancy/directory.ts";
import type { Asked, Principal } from "../tenancy/types.ts";
import { storable } from "./invoke.ts";
import type { Clock } from "./ports.ts";
import type { Refusals } from "./refusals.ts";

export interface EntryPorts {
  readonly directory: Directory;
  readonly hub: Pick<Hub, "isSuspended">;
  readonly refusals: Refusals;
  readonly clock: Clock;
}

function principalOf(ports: EntryPorts, token: string | undefined, requestId: string): Promise<Principal> {
  return recorded(ports, ports.directory.authenticate(token, ports.clock.now()), requestId);
}

async function recorded<T>(ports: EntryPorts, login: Promise<T>, requestId: string): Promise<T> {
  try {
    return await storable(login);
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
  refuseSuspended(ports, principal, requestId);
  return principal;
}

function refuseSuspended({ hub, refusals }: EntryPorts, principal: Principal, requestId: string): void {
  if (hub.isSuspended(principal.tenant)) throw refusals.suspended(principal, requestId);
}

/**
 * For who was let in and still reads: its key may have ended meanwhile, or its tenant been suspended.
 * @throws SignalboxError as `authenticate` does
 */
export async function requireStillIn(ports: EntryPorts, { principal, requestId }: Asked): Promise<void> {
  await recorded(ports, ports.directory.requireAlive(principal, ports.clock.now()), requestId);
  refuseSuspended(ports, principal, requestId);
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
