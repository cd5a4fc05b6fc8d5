// What the headers of requests may say that are no calls.
import type { IncomingHttpHeaders } from "node:http";
import { faultAt } from "./check.ts";

/** Passing it over would let a client believe that a repeat is harmless, and make a second key, grant or webhook. */
export function refuseIdempotencyKey(headers: IncomingHttpHeaders): void {
  if (headers["idempotency-key"] === undefined) return;
  throw faultAt("header", "/Idempotency-Key", "const", "is served on POST /v1/executions only; leave it out here");
}
