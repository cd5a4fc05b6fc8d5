// Reads a request's credential and says which scope its principal lacks.
import { SignalboxError } from "@signalbox/protocol";
import type { Principal, Scope } from "../../tenancy/types.ts";

const bearer = /^Bearer +([^\s]+) *$/i;

/** The token of an `Authorization: Bearer …` header; undefined when there is none, or it is of another kind. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : bearer.exec(header)?.[1];
}

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.has(scope) || principal.scopes.has("*");
}

/** @param scopes any of which would do; the first is the one to ask for */
export function missingScope(scopes: readonly [Scope, ...Scope[]]): SignalboxError {
  const [first] = scopes;
  return new SignalboxError(
    "forbidden",
    `this credential lacks the scope ${scopes.join(" or ")}; use a key that has it, or ask an administrator for one`,
    {
      details: { reason: "missing_scope", missing_scope: first, ...(scopes.length > 1 ? { any_of: scopes } : {}) },
    },
  );
}
