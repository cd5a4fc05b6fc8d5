// Looks again at every call that waits, after something was quarantined or disabled: what may not run any more ends now.
import type { Hub } from "../dispatch/hub.ts";
import { argsOf } from "./args.ts";
import type { Approvals } from "./approvals.ts";
import type { Driver } from "./driver.ts";
import { lookAgain, type GovernorPorts } from "./governor.ts";
import type { Log } from "./ports.ts";

export interface ReconsiderPorts extends GovernorPorts {
  readonly hub: Hub;
  readonly driver: Driver;
  readonly approvals: Approvals;
  readonly log: Log;
}

/** @returns how many calls were denied */
export async function reconsider(ports: ReconsiderPorts): Promise<number> {
  const { hub, driver, approvals, clock, log } = ports;
  let denied = 0;
  for (const call of hub.waitingCalls()) {
    try {
      const look = await lookAgain(ports, call, argsOf(call));
      if (look.ok) continue;
      if (call.state === "awaiting_approval") await approvals.endWithCall(call, { type: "rejected", error: look.error, by: null });
      else hub.cleared(call.tenant, call.callId, { error: look.error }, clock.now());
      denied++;
    } catch (error) {
      // It is looked at again before a worker gets it, and before people can let it go on.
      log.error({ reason: String(error), execution_id: call.callId }, "a waiting call could not be looked at again");
    }
  }
  driver.pump();
  return denied;
}
