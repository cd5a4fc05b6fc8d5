// Which errors an operation can answer with, by HTTP status, as the API's document tells them.
import { errorTable } from "@signalbox/protocol";
import type { ErrorCode } from "@signalbox/protocol";
import type { z } from "zod";
import { rateHeaders } from "../routes/operation.ts";
import type { Route } from "../routes/route.ts";
import { errorAnswer, failedCallAnswer } from "../schemas/answers/errors.ts";
import type { JsonSchema } from "../schemas/told-as.ts";

/** Whoever asks with a credential can meet these anywhere. */
const ofGuarded: readonly ErrorCode[] = [
  "invalid_input",
  "unauthenticated",
  "token_expired",
  "key_revoked",
  "forbidden",
  "ledger_unavailable",
];
const ofAny: readonly ErrorCode[] = ["internal"];

/** By HTTP status, each in the table's order. */
export function errorsOf(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const own = route.operation?.errors ?? [];
  const guarded = route.scope !== null || route.scopeOffLoopback !== undefined;
  const withBody = route.scope !== null && route.method !== "GET";
  const can = new Set<ErrorCode>([
    ...ofAny,
    ...(guarded ? ofGuarded : []),
    ...(withBody ? (["payload_too_large"] as const) : []),
    ...own,
  ]);
  const all = (Object.keys(errorTable) as ErrorCode[]).filter((code) => can.has(code));
  return Map.groupBy(all, (code) => errorTable[code].http);
}

/** Shared by all operations that can answer with no other code of the status. */
const names: Readonly<Record<number, { readonly name: string; readonly codes: readonly ErrorCode[] }>> = {
  400: { name: "InvalidRequest", codes: ["invalid_input"] },
  401: { name: "Unauthenticated", codes: ["unauthenticated", "token_expired", "key_revoked"] },
  403: { name: "Forbidden", codes: ["forbidden"] },
  413: { name: "TooLarge", codes: ["payload_too_large"] },
  500: { name: "Internal", codes: ["internal"] },
  503: { name: "Unavailable", codes: ["ledger_unavailable"] },
};

type Tell = (schema: z.ZodType) => JsonSchema;

export function sharedErrorResponses(tell: Tell): Readonly<Record<string, JsonSchema>> {
  const all = Object.entries(names).map(([status, { name, codes }]) => [
    name,
    errorResponse(Number(status), codes, [errorAnswer], tell),
  ]);
  return Object.fromEntries(all) as Readonly<Record<string, JsonSchema>>;
}

/** The error responses of one operation, by status. */
export function errorResponses(route: Route, tell: Tell): Readonly<Record<string, JsonSchema>> {
  const failed = route.operation?.tellsFailedCalls === true;
  const all = [...errorsOf(route)].map(([status, codes]) => {
    const shared = names[status];
    if (!failed && shared !== undefined && String(shared.codes) === String(codes))
      return [status, { $ref: `#/components/responses/${shared.name}` }];
    return [status, errorResponse(status, codes, failed ? [errorAnswer, failedCallAnswer] : [errorAnswer], tell)];
  });
  return Object.fromEntries(all) as Readonly<Record<string, JsonSchema>>;
}

function errorResponse(
  status: number,
  codes: readonly ErrorCode[],
  schemas: readonly z.ZodType[],
  tell: Tell,
): JsonSchema {
  const told = schemas.map(tell);
  const headers = ["X-Request-Id", ...(headersOf[status] ?? [])];
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: { "application/json": { schema: told.length === 1 ? told[0] : { anyOf: told } } },
    "x-error-codes": codes,
  };
}

const headersOf: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  429: ["Retry-After", ...rateHeaders],
  503: ["Retry-After"],
};
