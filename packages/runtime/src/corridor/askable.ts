// Warns of unsafe tools that nobody can be asked about: rules whose role too few people hold, and unknown ends that nobody may settle.
import { isSafe } from "@signalbox/protocol";
import type { Ledger } from "../ledger/port.ts";
import { lackOf, lackText, type Answerer } from "../policy/answerers.ts";
import type { ToolVersion } from "../registry/types.ts";
import { isAlive } from "../tenancy/directory.ts";
import type { Key } from "../tenancy/types.ts";
import { storable } from "./invoke.ts";
import type { PolicyBook } from "./policy-book.ts";
import type { Clock, Log } from "./ports.ts";
import { rulesFor } from "./tools-policies.ts";

export interface AskablePorts {
  readonly ledger: Pick<Ledger, "keys" | "grants" | "tenants" | "listTools" | "toolVersion">;
  readonly policies: Pick<PolicyBook, "current">;
  readonly clock: Clock;
}

/** Unsafe tools that a start looks at, over all tenants, and lines that it logs about them. */
const toolsLookedAtMax = 1_000;
const linesMax = 20;
const pageSize = 100;

export const askHint = "signalbox keys create --scope approvals:decide --role <role>";

/** People with a live key that may decide approvals; agents have no vote. */
export async function answerersOf({ ledger, clock }: AskablePorts, tenant: string): Promise<readonly Answerer[]> {
  const now = clock.now();
  const [keys, grants] = await storable(Promise.all([ledger.keys(tenant), ledger.grants(tenant)]));
  const people = new Map<string, string[]>();
  for (const key of keys) {
    if (!isAlive(key, now) || !mayDecide(key) || key.principal.startsWith("agent:")) continue;
    people.set(key.principal, [...(people.get(key.principal) ?? []), ...key.roles]);
  }
  for (const grant of grants) if (isAlive(grant, now)) people.get(grant.subject)?.push(...grant.roles);
  return [...people].map(([name, roles]) => ({ name, roles }));
}

const mayDecide = ({ scopes }: Key): boolean => scopes.includes("*") || scopes.includes("approvals:decide");

/** What is to be said of one version; nothing of a safe one, nor while the policies cannot be read. */
export function unaskable({ policies }: Pick<AskablePorts, "policies">, row: ToolVersion, people: readonly Answerer[]): readonly string[] {
  const { sideEffectClass, onIndeterminate } = row.spec;
  const book = policies.current();
  if (isSafe(sideEffectClass) || !book.ok) return [];
  const said: string[] = [];
  if (onIndeterminate === "ask" && people.length === 0) said.push("is unsafe, and nobody may decide how its calls of unknown end really ended: no live key has the scope approvals:decide");
  for (const { name, version, mode, approval } of rulesFor(book.set, row)) {
    const lack = approval === null || mode !== "enforce" ? undefined : lackOf(approval, people);
    if (lack !== undefined) said.push(`is unsafe, and the policy ${name}@${version} ${lackText(lack)}`);
  }
  return said;
}

/** At a start: one line in the log for each, and how many there are beyond. Never throws: a start does not fail by it. */
export async function warnOfUnaskable(ports: AskablePorts, log: Log): Promise<void> {
  let lines = 0;
  let looked = 0;
  try {
    for (const { tenant } of await ports.ledger.tenants()) {
      const people = await answerersOf(ports, tenant);
      for await (const row of unsafeTools(ports, tenant)) {
        if (++looked > toolsLookedAtMax) return log.warn({ tools: toolsLookedAtMax }, "not all unsafe tools were looked at for people who can be asked about them");
        for (const warning of unaskable(ports, row, people)) if (++lines <= linesMax) log.warn({ tenant, tool: row.tool, version: row.version, next: askHint }, `${row.tool} ${warning}`);
      }
    }
  } catch (error) {
    log.warn({ reason: String(error) }, "whether people can be asked about unsafe tools could not be found out");
  }
  if (lines > linesMax) log.warn({ more: lines - linesMax }, "there are more unsafe tools that nobody can be asked about");
}

async function* unsafeTools({ ledger }: AskablePorts, tenant: string): AsyncGenerator<ToolVersion> {
  let cursor: string | undefined;
  do {
    const page = await ledger.listTools(tenant, pageSize, cursor);
    for (const { tool, activeVersion, sideEffectClass } of page.items) {
      const row = activeVersion === null || isSafe(sideEffectClass) ? undefined : await ledger.toolVersion(tenant, tool, activeVersion);
      if (row !== undefined) yield row;
    }
    cursor = page.next;
  } while (cursor !== undefined);
}
