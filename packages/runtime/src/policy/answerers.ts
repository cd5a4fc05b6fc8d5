// Whether there are people who could ever answer what a rule asks.
import type { ApprovalDemand } from "./types.ts";

/** Somebody who may decide approvals, with all roles that they hold anywhere in the tenant. */
export interface Answerer {
  readonly name: string;
  readonly roles: readonly string[];
}

export interface Lack {
  readonly role: string;
  /** Distinct people that are asked for. */
  readonly wanted: number;
  readonly there: number;
}

/** Undefined where enough people hold the role, or where time answers instead. A requester who is one of them is not looked at. */
export function lackOf({ route, approvals, onTimeout, escalateTo }: ApprovalDemand, people: readonly Answerer[]): Lack | undefined {
  if (onTimeout === "allow") return undefined;
  const holders = (role: string): number => people.filter(({ roles }) => roles.includes(role)).length;
  const there = holders(route);
  if (there >= approvals || (escalateTo !== null && holders(escalateTo) >= approvals)) return undefined;
  return { role: route, wanted: approvals, there };
}

/** What a person reads of it. */
export function lackText({ role, wanted, there }: Lack): string {
  const held = there === 0 ? "nobody who may decide approvals holds it" : `${there} who may decide approvals ${there === 1 ? "holds" : "hold"} it`;
  return `asks ${wanted} of the role ${role}, and ${held}`;
}
