// One word of a person on many calls whose end nobody knows: each resolved and recorded by itself.
import { limits, SignalboxError } from "@signalbox/protocol";
import type { Call } from "../call/types.ts";
import type { Asked, ResolvedMany, ResolveFilter, ResolveManyRequest, UnknownEnd } from "../service.ts";
import { listExecutions, resolve } from "./executions.ts";
import { storable, type InvokePorts } from "./invoke.ts";
import type { Streams } from "./streams.ts";

/** Calls that a dry run shows with what is known of them. */
const shownMax = 100;
/** Parked calls that one request looks at. */
const lookedAtMax = 10_000;
const pageSize = 100;
/** Resolved at once: their commits share the disk. */
const atOnce = 20;
/** What was said is read so many calls at a time: each may be a MiB. */
const readAtOnce = 5;

type ManyPorts = InvokePorts & { readonly streams: Pick<Streams, "lastOutput"> };

/** @throws SignalboxError forbidden; what a single call is refused with stands beside that call */
export async function resolveMany(ports: ManyPorts, asked: Asked, request: ResolveManyRequest): Promise<ResolvedMany> {
  await ports.refusals.requireScope(asked.principal, "approvals:decide", asked.requestId);
  const { found, more } = await matching(ports, asked, request.filter);
  const chosen = found.slice(0, Math.min(request.limit, limits.resolveManyMax));
  const remaining = found.length - chosen.length;
  if (request.dryRun) {
    const shown: UnknownEnd[] = [];
    const some = found.slice(0, shownMax);
    for (let at = 0; at < some.length; at += readAtOnce) shown.push(...(await Promise.all(some.slice(at, at + readAtOnce).map((call) => whatIsKnown(ports, call)))));
    return { dryRun: true, matched: found.length, shown, resolved: [], failed: [], remaining: found.length, more };
  }
  const resolved: Call[] = [];
  const failed: { callId: string; error: SignalboxError }[] = [];
  const { verdict, comment } = request;
  for (let at = 0; at < chosen.length; at += atOnce) {
    await Promise.all(
      chosen.slice(at, at + atOnce).map(async ({ callId }) => {
        try {
          resolved.push(await resolve(ports, asked, callId, { verdict, ...(comment === undefined ? {} : { comment }) }));
        } catch (error) {
          if (!(error instanceof SignalboxError)) throw error;
          failed.push({ callId, error });
        }
      }),
    );
  }
  return { dryRun: false, matched: found.length, shown: [], resolved, failed, remaining, more };
}

/** The oldest last, as lists are; a person sees the newest first and takes what is left with the next request. */
async function matching(ports: InvokePorts, asked: Asked, filter: ResolveFilter): Promise<{ readonly found: readonly Call[]; readonly more: boolean }> {
  const { tool, project, olderThanMs } = filter;
  const to = olderThanMs === undefined ? undefined : ports.clock.now() - olderThanMs;
  const query = { status: "indeterminate", limit: pageSize, ...(tool === undefined ? {} : { tool }), ...(project === undefined ? {} : { project }), ...(to === undefined ? {} : { to }) } as const;
  const found: Call[] = [];
  let cursor: string | undefined;
  for (let looked = 0; looked < lookedAtMax; looked += pageSize) {
    const page = await listExecutions(ports, asked, cursor === undefined ? query : { ...query, cursor });
    found.push(...page.items.filter((call) => matches(call, filter)));
    cursor = page.next;
    if (cursor === undefined) return { found, more: false };
  }
  return { found, more: true };
}

function matches(call: Call, { routingOutcome, worker }: ResolveFilter): boolean {
  if (routingOutcome !== undefined && call.routingOutcome !== routingOutcome) return false;
  return worker === undefined || call.workerId === worker;
}

async function whatIsKnown({ ledger, streams }: ManyPorts, call: Call): Promise<UnknownEnd> {
  const { tenant, callId } = call;
  const [attempts, lateResults] = await storable(Promise.all([ledger.attempts(tenant, callId), ledger.lateResults(tenant, callId)]));
  // Without an instant the end of its last attempt is being written just now.
  const lastOutput = await storable(streams.lastOutput(call, attempts.at(-1)?.endedAt ?? Number.POSITIVE_INFINITY));
  return { call, attempts, lateResults, lastOutput };
}
