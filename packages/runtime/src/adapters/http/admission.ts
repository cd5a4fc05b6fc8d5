// Who may ask: the scope that a route wants, for every door in the same words.
import { SignalboxError } from "@signalbox/protocol";
import type { Asked, Service } from "../../service.ts";
import { platformTenant, type Scope } from "../../tenancy/types.ts";
import { hasScope, missingScope } from "./auth.ts";
import type { GuardedRoute } from "./routes/route.ts";

/** What a door needs to let somebody in. */
export interface Gate {
  readonly service: Service;
  /**
   * Told of every refusal for a missing scope before it is answered, so that it can be written down. What it throws
   * is answered in place of the door's own `forbidden`.
   */
  readonly onForbidden: (asked: Asked, scope: Scope, route: string) => Promise<void>;
}

/** @throws SignalboxError forbidden, once the refusal is written down */
export async function requireScope(
  { onForbidden }: Gate,
  asked: Asked,
  scope: GuardedRoute["scope"],
  route: string,
): Promise<void> {
  const scopes = typeof scope === "string" ? ([scope] as const) : scope;
  if (scopes.some((one) => hasScope(asked.principal, one))) return;
  await onForbidden(asked, scopes[0], route);
  throw missingScope(scopes);
}

/** @throws SignalboxError forbidden for a key of any tenant but the platform's */
export function requireOperator({ principal }: Asked): void {
  if (principal.tenant === platformTenant) return;
  throw new SignalboxError("forbidden", "this concerns every tenant, and is for the platform's operator: use a key of the tenant platform", {
    details: { reason: "operator_only" },
  });
}
