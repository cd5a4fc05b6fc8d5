// The id of the session that a call runs: made of the call's own, so that whoever runs the call again finds the same session.
import { crockford128 } from "@signalbox/protocol";
import type { Hash } from "../ports.ts";

const bytesOfId = 16;

/** `sess_` and 26 characters; equal calls always give the equal id, and no two tenants' calls the same. */
export function childSessionId(hash: Hash, tenant: string, callId: string): string {
  const hex = hash(`child session\n${tenant}\n${callId}`);
  const bytes = Uint8Array.from({ length: bytesOfId }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
  return `sess_${crockford128(bytes)}`;
}
