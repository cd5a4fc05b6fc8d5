// A worker's stream that has just come: nothing is known of it but whose it is.
import type { Session, WorkerIdentity } from "./types.ts";

export function newSession(id: number, identity: WorkerIdentity, now: number): Session {
  return {
    id,
    identity,
    workerId: "",
    incarnation: "",
    capacity: 0,
    labels: {},
    imageDigest: "",
    backends: [],
    freeMemoryBytes: null,
    ran: new Set(),
    handlers: new Map(),
    holding: new Map(),
    registered: false,
    draining: false,
    sentAway: false,
    connectedAt: now,
    lastHeardAt: now,
  };
}
