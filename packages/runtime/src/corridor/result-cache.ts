// The result cache: calls of a pure tool that may be answered with the result of an earlier one, whose row is the cache.
import { SignalboxError } from "@signalbox/protocol";
import type { Call, CallIdentity, Decision } from "../call/types.ts";
import { breakerMessage } from "../call/waiting.ts";
import type { CachedResult } from "../call/machine.ts";
import type { Admission } from "../dispatch/admission.ts";
import type { Hub } from "../dispatch/hub.ts";
import type { CommitOutcome, Ledger } from "../ledger/port.ts";
import type { ToolVersion } from "../registry/types.ts";
import type { Driver } from "./driver.ts";
import type { Clock, Hash, Meters } from "./ports.ts";

export interface ResultCachePorts {
  readonly hub: Hub;
  readonly driver: Driver;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly meters: Meters;
}

/** Looks that may turn out stale before the call runs all the same; one run of a twin has to end in each of them. */
const looksMax = 5;

/**
 * Everything that the result hangs on, the tenant aside, which is a column of its own. Null where the call runs by itself: a tool
 * that is not pure or keeps no results, people who are asked, and rules that oblige this very call to something.
 * @param argsHash of the canonical arguments as they would run
 * @param files canonical text of the input files; empty for none
 */
export function cacheKeyOf(
  hash: Hash,
  { tenant, tool, version, manifestDigest, spec }: ToolVersion,
  { decision, argsHash, files }: { readonly decision: Decision; readonly argsHash: string; readonly files: string },
): string | null {
  if (!spec.pure || spec.cacheTtlMs <= 0 || decision.outcome !== "allow" || decision.obligations !== undefined) return null;
  return hash(JSON.stringify([tenant, tool, version, manifestDigest, argsHash, files]));
}

export interface CachedAdmission {
  readonly cacheTtlMs: number;
  /** Monotonic instant at which the request was read. */
  readonly since: number;
  /** Throws where the queue has filled, or the runtime begun to leave, while the ledger was read. */
  admissible(): void;
}

/** @throws SignalboxError breaker_open: the tool is down, and nobody is sent to it for now */
function requireClosed({ hub, clock, meters }: ResultCachePorts, identity: CallIdentity): void {
  const { againMs } = hub.breaker(identity, clock.now());
  if (againMs === null) return;
  const { tool, version } = identity;
  meters.count("breaker_refusals_total", { tool });
  throw new SignalboxError("breaker_open", breakerMessage(identity), { details: { tool, version, retry_after_s: Math.max(1, Math.ceil(againMs / 1_000)) } });
}

/** Admits the call, or stores it as answered by an earlier result that is younger than its tool says. */
export async function admitOrAnswer(ports: ResultCachePorts, admission: Admission, { cacheTtlMs, since, admissible }: CachedAdmission): Promise<CommitOutcome> {
  const { hub, driver, clock, meters } = ports;
  const { identity } = admission;
  const { tenant, tool, cacheKey } = identity;
  // Whoever froze a tool wants nothing of it to go out.
  if (hub.isFrozen(tenant, tool)) return driver.admit(admission, since);
  if (cacheKey === null) {
    requireClosed(ports, identity);
    return driver.admit(admission, since);
  }
  for (let looks = 0; looks < looksMax; looks++) {
    const ended = hub.endedRuns(tenant, cacheKey);
    const found = await resultFor(ports.ledger, identity, cacheKey, clock.now() - cacheTtlMs);
    if (found !== null) {
      meters.count("result_cache_total", { result: "hit" });
      return driver.answer({ ...admission, identity: { ...identity, sandbox: null, boxJson: null } }, found);
    }
    // A twin that ended while the ledger was read may have left what was looked for.
    if (hub.endedRuns(tenant, cacheKey) === ended) break;
  }
  admissible();
  requireClosed(ports, identity);
  meters.count("result_cache_total", { result: "miss" });
  return driver.admit(admission, since);
}

/** What may have come into the ledger while the call waited: a look before its start, or before an answer, asks for it. */
export async function keptResult({ ledger, clock }: Pick<ResultCachePorts, "ledger" | "clock">, call: Call): Promise<CachedResult | null> {
  if (call.cacheKey === null) return null;
  const version = await ledger.toolVersion(call.toolTenant, call.tool, call.version);
  return version === undefined ? null : resultFor(ledger, call, call.cacheKey, clock.now() - version.spec.cacheTtlMs);
}

async function resultFor(ledger: Ledger, { tenant, resultBytesMax }: Pick<CallIdentity, "tenant" | "resultBytesMax">, cacheKey: string, settledFrom: number): Promise<CachedResult | null> {
  const call = await ledger.cachedResult(tenant, cacheKey, settledFrom);
  if (call === undefined || call.outputJson === null || call.outputHash === null || call.outputBytes > resultBytesMax) return null;
  const { outputJson: json, outputHash: hash, outputBytes: bytes, outputIllFormed: illFormed } = call;
  return { from: call.callId, output: { json, hash, bytes, illFormed } };
}
