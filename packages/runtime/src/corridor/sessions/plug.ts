// Plugs sessions into a runtime: what they need of it, and who tells them of calls, approvals and other replicas.
import type { SharedLedger } from "../../ledger/shared.ts";
import type { Models } from "../../session/model.ts";
import type { AdminPorts } from "../admin.ts";
import { agentToRun } from "../agents/read.ts";
import type { Log } from "../ports.ts";
import { SessionDriver } from "./driver.ts";
import type { SessionPorts } from "./ports.ts";
import type { SessionServicePorts } from "./service.ts";
import { SessionSignals } from "./signals.ts";

export interface GivenToSessions {
  readonly admin: AdminPorts;
  readonly log: Log;
  readonly replica: string;
  readonly models: Models | undefined;
  /** Undefined: no other replica is there to be told. */
  readonly shared: SharedLedger | undefined;
}

export interface SessionParts {
  readonly driver: SessionDriver;
  /** What the service is made of. */
  readonly parts: Omit<SessionServicePorts, "paging">;
}

export function sessionsOf({ admin, log, replica, models, shared }: GivenToSessions): SessionParts {
  const wakeOthers = shared === undefined ? {} : { wakeOthers: (tenant: string, sessionId: string) => shared.wake([{ type: "session", tenant, sessionId }]) };
  const ports: SessionPorts = { ...admin, log, replica, models: models ?? (() => undefined), signals: new SessionSignals(), ...wakeOthers };
  const driver = new SessionDriver(ports);
  return {
    driver,
    parts: {
      ...ports,
      sessions: driver,
      agentToRun: (tenant, agent, version) => agentToRun(ports, tenant, agent, version),
    },
  };
}
