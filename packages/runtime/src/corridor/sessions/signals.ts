// Who listens to which session here: readers of its stream and whoever waits for its turn to end.
import type { SessionDelta } from "../../service-sessions.ts";

/** `changed`: something of it was stored. */
export interface SessionEars {
  changed(): void;
  delta(delta: SessionDelta): void;
}

export class SessionSignals {
  readonly #ears = new Map<string, Set<SessionEars>>();

  listen(tenant: string, sessionId: string, ears: SessionEars): () => void {
    const key = sessionKey(tenant, sessionId);
    let all = this.#ears.get(key);
    if (all === undefined) this.#ears.set(key, (all = new Set()));
    all.add(ears);
    return () => {
      const now = this.#ears.get(key);
      now?.delete(ears);
      if (now?.size === 0) this.#ears.delete(key);
    };
  }

  changed(tenant: string, sessionId: string): void {
    for (const ears of this.#ears.get(sessionKey(tenant, sessionId)) ?? []) ears.changed();
  }

  delta(tenant: string, sessionId: string, delta: SessionDelta): void {
    for (const ears of this.#ears.get(sessionKey(tenant, sessionId)) ?? []) ears.delta(delta);
  }

  /** Everybody looks again: the runtime leaves, or what others stored was missed. */
  changedAll(): void {
    for (const all of this.#ears.values()) for (const ears of all) ears.changed();
  }

  hasEars(tenant: string, sessionId: string): boolean {
    return this.#ears.has(sessionKey(tenant, sessionId));
  }
}

export function sessionKey(tenant: string, sessionId: string): string {
  return `${tenant}\u0000${sessionId}`;
}
