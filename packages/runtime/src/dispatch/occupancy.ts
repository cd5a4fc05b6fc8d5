// Counts the calls of each tenant, project and tool that work or wait, and says whom a cap on work at once holds back.
import type { Call } from "../call/types.ts";
import type { CapBook } from "./types.ts";

type Place = Pick<Call, "tenant" | "project">;
type ToolPlace = Pick<Call, "tenant" | "toolTenant" | "tool">;

interface Counted {
  working: number;
  waiting: number;
}

const nobody: Readonly<Counted> = { working: 0, waiting: 0 };

/** By tenant, by tenant and project, and by tenant and tool; what is not here has no such call. */
export class Occupancy {
  readonly #counts = new Map<string, Counted>();

  /** Follows a call from one state to the next; null = it was not in memory before, or is not any more. */
  moved(before: Call | null, after: Call | null): void {
    const place = before ?? after;
    if (place === null) return;
    const working = Number(works(after)) - Number(works(before));
    const waiting = Number(waits(after)) - Number(waits(before));
    if (working === 0 && waiting === 0) return;
    // An agent's call does no work itself: its session's calls do, and could not begin beside it where one alone may work.
    const quota = place.executor === "agent" ? 0 : working;
    this.#add(place.tenant, quota, waiting);
    this.#add(projectKey(place), quota, waiting);
    this.#add(toolKey(place), working, waiting);
  }

  ofTenant(tenant: string): Readonly<Counted> {
    return this.#counts.get(tenant) ?? nobody;
  }

  ofProject(place: Place): Readonly<Counted> {
    return this.#counts.get(projectKey(place)) ?? nobody;
  }

  ofTool(place: ToolPlace): Readonly<Counted> {
    return this.#counts.get(toolKey(place)) ?? nobody;
  }

  #add(key: string, working: number, waiting: number): void {
    let counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, (counted = { working: 0, waiting: 0 }));
    counted.working += working;
    counted.waiting += waiting;
    if (counted.working === 0 && counted.waiting === 0) this.#counts.delete(key);
  }
}

/** No tenant's name holds the separator. */
const projectKey = ({ tenant, project }: Place): string => `${tenant}\u0000${project}`;
const toolKey = ({ tenant, toolTenant, tool }: ToolPlace): string => `${tenant}\u0000${toolTenant}\u0000${tool}`;

export const works = (call: Call | null): boolean =>
  call !== null && (call.state === "dispatched" || call.state === "running");
const waits = (call: Call | null): boolean => call !== null && call.state === "queued";

/** Whether so many calls of its tenant or its project work already that this one has to wait. */
export function isCapped(caps: CapBook, occupancy: Occupancy, place: Place): boolean {
  if (!caps.any) return false;
  return (
    occupancy.ofTenant(place.tenant).working >= caps.concurrentMax(place.tenant) ||
    occupancy.ofProject(place).working >= caps.concurrentMaxOfProject(place.tenant, place.project)
  );
}

export const noCaps: CapBook = {
  any: false,
  concurrentMax: () => Number.POSITIVE_INFINITY,
  concurrentMaxOfProject: () => Number.POSITIVE_INFINITY,
};

/** UTC's; what a tenant without a zone of its own goes by. */
export function utcDay(_tenant: string, at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
