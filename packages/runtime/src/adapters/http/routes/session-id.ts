// The id of a session as a path names it.
import { sessionNotFound } from "../../../corridor/sessions/service.ts";
import { isSessionId } from "../schemas/sessions.ts";
import type { Ask } from "./route.ts";

/** An id that no session can have is answered like one that no session has, and costs the ledger nothing. */
export function sessionIdIn(params: Ask["params"]): string {
  const id = params["id"] ?? "";
  if (!isSessionId(id)) throw sessionNotFound();
  return id;
}
