// Lets web pages of other origins ask, where their origins are named: answers preflights, and says so in every answer.
import type { FastifyReply, FastifyRequest } from "fastify";
import { httpLimits } from "./http-limits.ts";

/** What our API reads, and a page may not send by itself. */
const headersTaken = "authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id";

/**
 * The origin as browsers send it (`https://app.example.com`, no path); undefined for anything else. `*` and `null` are
 * nobody's: with them any page on the net could use a key that it got hold of.
 */
export function exactOrigin(text: string): string | undefined {
  if (!/^https?:\/\/[^*]+$/.test(text) || !URL.canParse(text)) return undefined;
  const { origin } = new URL(text);
  return origin === text ? origin : undefined;
}

/**
 * Marks the answer as readable for a page of one of these origins. Cookies are never asked for, so no page acts with
 * what a browser keeps: it has to know a key.
 * @param methodsAt the methods of a path
 * @returns the headers of the preflight's answer, where the request is one that is let through
 */
export function crossOrigin(
  origins: ReadonlySet<string>,
  methodsAt: (path: string) => readonly string[],
  request: FastifyRequest,
  reply: FastifyReply,
): Readonly<Record<string, string>> | undefined {
  // The same path answers another origin otherwise, and a cache in between has to know.
  reply.header("vary", "origin");
  const { origin } = request.headers;
  if (origin === undefined || !origins.has(origin)) return undefined;
  reply.headers({ "access-control-allow-origin": origin, "access-control-expose-headers": "*" });
  const wanted = request.headers["access-control-request-method"];
  const methods = methodsAt(request.url.split("?", 1)[0] ?? "");
  if (request.method !== "OPTIONS" || wanted === undefined || methods.length === 0) return undefined;
  return {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": headersTaken,
    "access-control-max-age": String(httpLimits.preflightAgeS),
  };
}
