// Takes a row that is this replica's from now on into the hub's memory.
import type { Call } from "../../call/types.ts";
import type { ReplicaPorts } from "./ports.ts";

type Ports = Pick<ReplicaPorts, "hub" | "clock" | "factsFor" | "recoverStream">;

/** @returns false when memory has it still: what it knows of it is on its way out */
export async function takeUp(ports: Ports, row: Call): Promise<boolean> {
  const { hub, clock } = ports;
  if (keptBy(hub, row)) return false;
  await ports.recoverStream(row);
  const facts = await ports.factsFor(row);
  if (keptBy(hub, row)) return false;
  if (hub.find(row.tenant, row.callId) === undefined) hub.restore(row, facts, clock.now());
  else hub.reloaded(row, row.tenant, row.callId, facts, clock.now());
  return true;
}

function keptBy(hub: ReplicaPorts["hub"], row: Call): boolean {
  const here = hub.find(row.tenant, row.callId);
  if (here === undefined || isPast(here, row)) return false;
  hub.claimedAgain(row);
  return true;
}

/** It was away, and others have given it a lease that memory knows nothing of: whoever holds that would be told to drop it. */
function isPast(here: Call, row: Call): boolean {
  if (here.fence !== row.fence) return here.fence < row.fence;
  return row.workerId !== null && (here.workerId !== row.workerId || here.incarnation !== row.incarnation);
}
