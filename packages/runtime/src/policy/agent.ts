// Which agent a call is made for, by what is known of its caller.

/** A credential that is an agent's own says which; an application that calls for its agents names one in `context.agent`. */
export function agentOf(principal: string, context: unknown): string {
  if (principal.startsWith("agent:")) return principal.slice("agent:".length);
  const named = (context as { readonly agent?: unknown } | null | undefined)?.agent;
  return typeof named === "string" ? named : "";
}
