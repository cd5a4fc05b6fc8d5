// Handlers that a test holds: every call waits at the gate that its arguments name, until the test opens that gate.
import type { ToolContext } from "@signalbox/worker";

/** One entry into user code: the truth about side effects. */
export interface Entry {
  readonly callId: string;
  readonly attempt: number;
  readonly fence: number;
  readonly tool: string;
  readonly args: unknown;
  readonly ctx: ToolContext;
}

export interface GateArgs {
  readonly gate: string;
  /** Goes on waiting when it is told to stop. */
  readonly stubborn?: boolean;
}

export interface Gates {
  /** Every entry, in order. */
  readonly entries: readonly Entry[];
  /** The handler to register. Its output is what `open` gives, else who it was. */
  hold(args: GateArgs, ctx: ToolContext): Promise<unknown>;
  /** A handler that notes its entry and does not wait. */
  note(args: unknown, ctx: ToolContext): unknown;
  /** Resolves with the `nth` entry (from 1) at this gate. */
  entered(gate: string, nth?: number): Promise<Entry>;
  /** For who waits there and for all who come later. */
  open(gate: string, output?: unknown): void;
  fail(gate: string, error: Error): void;
  entriesOf(callId: string | undefined): readonly Entry[];
}

interface Gate {
  readonly entries: Entry[];
  readonly arrivals: { nth: number; resolve: (entry: Entry) => void }[];
  readonly opening: PromiseWithResolvers<unknown>;
}

export function createGates(): Gates {
  const entries: Entry[] = [];
  const gates = new Map<string, Gate>();
  const gateOf = (name: string): Gate => {
    let gate = gates.get(name);
    if (gate === undefined) {
      gate = { entries: [], arrivals: [], opening: Promise.withResolvers() };
      // A gate that fails before anybody came is not an unhandled rejection.
      gate.opening.promise.catch(() => undefined);
      gates.set(name, gate);
    }
    return gate;
  };
  const entering = (args: unknown, ctx: ToolContext): Entry => {
    const { tool, fence } = ctx.invoke;
    const entry: Entry = { callId: ctx.callId, attempt: ctx.attempt, fence, tool, args, ctx };
    entries.push(entry);
    return entry;
  };
  return {
    entries,
    note: (args, ctx) => ({ fence: entering(args, ctx).fence }),
    async hold(args, ctx) {
      const gate = gateOf(args.gate);
      const entry = entering(args, ctx);
      gate.entries.push(entry);
      for (const { nth, resolve } of gate.arrivals) if (gate.entries.length === nth) resolve(entry);
      const output = await (args.stubborn === true
        ? gate.opening.promise
        : Promise.race([gate.opening.promise, stopped(ctx.signal)]));
      return output ?? { gate: args.gate, call_id: entry.callId, fence: entry.fence };
    },
    entered(name, nth = 1) {
      const gate = gateOf(name);
      const there = gate.entries[nth - 1];
      if (there !== undefined) return Promise.resolve(there);
      return new Promise((resolve) => gate.arrivals.push({ nth, resolve }));
    },
    open: (name, output) => gateOf(name).opening.resolve(output),
    fail: (name, error) => gateOf(name).opening.reject(error),
    entriesOf: (callId) => entries.filter((entry) => entry.callId === callId),
  };
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
