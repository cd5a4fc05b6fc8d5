// Random conversations with the worker's state machine: what must hold in every one of them.
import type { Invoke, Lease, Result, Resync, SideEffectClass, WorkerMessage } from "@signalbox/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { broke, charge, config, invokeOf, ok, read, registered } from "./core-driver.ts";
import { createWorkerCore } from "./core.ts";
import type { WorkerInput, WorkerOutput } from "./core-types.ts";

const classes: readonly SideEffectClass[] = [
  "read_only",
  "idempotent_write",
  "non_idempotent_write",
  "irreversible_action",
];
/** Two calls of each class. */
const invokes: readonly Invoke[] = [1, 2].flatMap((n) =>
  classes.map((sideEffectClass) => invokeOf(sideEffectClass, { callId: `${sideEffectClass}_${n}`, timeoutMs: 3_000 })),
);
const capacity = 3;
const perHandler = 2;

const call = fc.nat({ max: invokes.length - 1 });
const fence = fc.integer({ min: 1, max: 4 });
const action = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant("invoke" as const), call, fence }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("go" as const), call, fence }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("end" as const), pick: fc.nat(), fails: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("ack" as const),
      call,
      fence,
      verdict: fc.constantFrom("stored", "lease_lost"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("cancel" as const),
      call,
      fence,
      reason: fc.constantFrom("cancel", "timeout", "lost"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("break" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("return" as const),
      verdicts: fc.array(fc.constantFrom("keep", "drop", "acked", "none")),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("garbled" as const), call, fence }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 4_000 }) }) },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

const keyOf = ({ callId, fence: number }: Lease): string => `${callId} ${number}`;

function must(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`broken: ${rule}`);
}

/** Holds the conversation, and keeps its own books about what it sees. */
class Observer {
  readonly #core = createWorkerCore({
    ...config,
    capacity,
    handlers: [
      { ...charge, maxConcurrency: perHandler },
      { ...read, maxConcurrency: perHandler },
    ],
  });
  #nowMs = 0;
  #online = false;
  /** Every lease that was ever started, and told to go. */
  readonly #started = new Set<string>();
  readonly #told = new Set<string>();
  readonly #accepted = new Set<string>();
  /** In user code, by call id; `lost` when its lease is gone. */
  readonly #inCode = new Map<string, { invoke: Invoke; lost: boolean }>();
  /** Results that the runtime has not acknowledged, by call id. */
  readonly owed = new Map<string, number>();

  take(input: WorkerInput): readonly WorkerOutput[] {
    const outputs = this.#core.on(input, this.#nowMs);
    for (const output of outputs) this.#see(output);
    must(this.#inCode.size <= capacity, "no more calls in user code than the capacity");
    for (const tool of ["charge", "read"]) {
      const ofTool = [...this.#inCode.values()].filter(({ invoke }) => invoke.tool === tool);
      must(ofTool.length <= perHandler, "no more calls of a tool than its bound");
    }
    return outputs;
  }

  #see(output: WorkerOutput): void {
    switch (output.type) {
      case "start":
        return this.#seeStart(output.invoke);
      case "send":
        must(this.#online, "nothing is sent without a stream");
        return this.#seeMessage(output.message);
      case "abandon": {
        const run = this.#inCode.get(output.callId);
        must(run?.invoke.fence === output.fence, "only a running call is abandoned");
        if (run !== undefined) run.lost = true;
        return;
      }
      case "drained":
        must(this.#inCode.size + this.owed.size === 0, "a drained worker holds nothing");
        return;
      default: // notes, stops, secrets: nothing to keep books of
    }
  }

  #seeStart(invoke: Invoke): void {
    const key = keyOf(invoke);
    must(!this.#started.has(key), "a lease starts at most once");
    must(!this.#inCode.has(invoke.callId), "a call never runs beside an older lease of itself");
    must(this.#accepted.has(key), "a call is accepted before it starts");
    must(!invoke.needsGo || this.#told.has(key), "an unsafe call starts on Go");
    this.#started.add(key);
    this.#inCode.set(invoke.callId, { invoke, lost: false });
  }

  #seeMessage(message: WorkerMessage): void {
    if (message.type === "accepted") this.#accepted.add(keyOf(message));
    if (message.type === "result") {
      const run = this.#inCode.get(message.callId);
      must(run?.invoke.fence !== message.fence, "a running lease has no result");
      const evidence = this.#resyncing.has(keyOf(message)) || this.#lostEnd === keyOf(message);
      if (!evidence) this.owed.set(message.callId, message.fence);
    }
  }

  /** The lost lease whose handler ends just now: what it did is told once as evidence, and is not owed. */
  #lostEnd = "";
  /** Leases that the Registered at hand lets go of: their result may be told once more, and is not owed. */
  #resyncing = new Set<string>();

  act(step: Action): void {
    switch (step.do) {
      case "invoke":
        return this.#invoke(step.call, step.fence);
      case "go":
        if (!this.#online) return;
        this.#told.add(keyOf({ callId: invokes[step.call]?.callId ?? "", fence: step.fence }));
        return void this.take({ type: "message", message: { type: "go", ...this.#lease(step) } });
      case "end":
        return this.#end(step.pick, step.fails);
      case "ack":
        if (!this.#online) return;
        if (this.owed.get(this.#lease(step).callId) === step.fence) this.owed.delete(this.#lease(step).callId);
        return void this.take({
          type: "message",
          message: { type: "result_ack", ...this.#lease(step), verdict: step.verdict },
        });
      case "cancel":
        if (!this.#online) return;
        return void this.take({
          type: "message",
          message: { type: "cancel", ...this.#lease(step), graceMs: 100, reason: step.reason },
        });
      case "break":
        this.#online = false;
        return void this.take({ type: "disconnected" });
      case "return":
        return this.comeBack(step.verdicts);
      case "garbled":
        if (!this.#online) return;
        return void this.take({
          type: "message",
          message: { type: "malformed", reason: "bad", lease: this.#lease(step) },
        });
      case "wait":
        this.#nowMs += step.ms;
        return void this.take({ type: "tick" });
    }
  }

  #lease(step: { call: number; fence: number }): Lease {
    return { callId: invokes[step.call]?.callId ?? "", fence: step.fence };
  }

  #invoke(index: number, withFence: number): void {
    if (!this.#online) return;
    const invoke: Invoke = { ...(invokes[index] as Invoke), fence: withFence };
    const owed = this.owed.get(invoke.callId);
    // A newer lease of a read is a new read; the old answer is worth nothing any more.
    if (invoke.sideEffectClass === "read_only" && owed !== undefined && owed < withFence)
      this.owed.delete(invoke.callId);
    const outputs = this.take({ type: "message", message: invoke });
    const answers = outputs.filter(
      (output) => output.type === "send" && ["accepted", "nack"].includes(output.message.type),
    );
    must(answers.length === 1, "an Invoke is answered once");
  }

  #end(pick: number, fails: boolean): void {
    const running = [...this.#inCode.values()];
    const run = running[pick % Math.max(1, running.length)];
    if (run === undefined) return;
    const { callId, fence: ofRun } = run.invoke;
    this.#inCode.delete(callId);
    this.#lostEnd = run.lost ? keyOf(run.invoke) : "";
    const outputs = this.take({ type: "handler_ended", callId, fence: ofRun, end: fails ? broke : ok });
    this.#lostEnd = "";
    const told = outputs.filter((output) => output.type === "send" && output.message.type === "result");
    const wanted = !run.lost || ["non_idempotent_write", "irreversible_action"].includes(run.invoke.sideEffectClass);
    must(told.length === (this.#online && wanted ? 1 : 0), "a result is told at once; of a lost lease only what may have changed something");
    if (!run.lost) this.owed.set(callId, ofRun);
  }

  comeBack(verdicts: readonly ("keep" | "drop" | "acked" | "none")[]): void {
    if (this.#online) return;
    this.#online = true;
    const [first] = this.take({ type: "connected" });
    const register = first?.type === "send" && first.message.type === "register" ? first.message : undefined;
    const done = register?.inFlight.filter(({ state }) => state === "done") ?? [];
    must(
      done.length === this.owed.size && done.every(({ callId, fence: ofDone }) => this.owed.get(callId) === ofDone),
      "Register names every result that is owed, and no other",
    );
    const resync = (register?.inFlight ?? []).flatMap(({ callId, fence: ofCall }, n): Resync[] => {
      const verdict = verdicts[n] ?? "none";
      return verdict === "none" ? [] : [{ callId, fence: ofCall, verdict }];
    });
    for (const { callId, fence: ofCall, verdict } of resync) {
      if (verdict !== "keep" && this.owed.get(callId) === ofCall) this.owed.delete(callId);
    }
    this.#resyncing = new Set(resync.filter(({ verdict }) => verdict !== "keep").map(keyOf));
    const outputs = this.take({
      type: "message",
      message: { type: "registered", leaseTtlMs: 15_000, heartbeatMs: 5_000, resync, refused: [] },
    });
    this.#resyncing.clear();
    const told = new Set(
      outputs.flatMap((output) =>
        output.type === "send" && output.message.type === "result" ? [keyOf(output.message)] : [],
      ),
    );
    for (const [callId, ofCall] of this.owed) {
      must(told.has(keyOf({ callId, fence: ofCall })), "an owed result is told on every new stream");
    }
  }

  /** Ends whatever runs, acknowledges whatever is owed, and sees the worker leave exactly once. */
  leave(): void {
    this.comeBack([]);
    const outputs: WorkerOutput[] = [...this.take({ type: "drain" })];
    for (const { callId } of invokes) {
      for (const ofCall of [1, 2, 3, 4]) {
        outputs.push(
          ...this.take({
            type: "message",
            message: { type: "cancel", callId, fence: ofCall, graceMs: 0, reason: "cancel" },
          }),
        );
      }
    }
    for (const { invoke, lost } of this.#inCode.values()) {
      this.#inCode.delete(invoke.callId);
      this.#lostEnd = lost ? keyOf(invoke) : "";
      outputs.push(...this.take({ type: "handler_ended", callId: invoke.callId, fence: invoke.fence, end: broke }));
    }
    for (const [callId, ofCall] of this.owed) {
      this.owed.delete(callId);
      outputs.push(
        ...this.take({ type: "message", message: { type: "result_ack", callId, fence: ofCall, verdict: "stored" } }),
      );
    }
    must(outputs.filter(({ type }) => type === "drained").length === 1, "drained is said once");
  }
}

test("a handler starts at most once for each lease, on Go if it is unsafe, within the slots; every result is owed until acknowledged", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120, size: "max" }), (steps) => {
      const observer = new Observer();
      observer.comeBack([]);
      for (const step of steps) observer.act(step);
      observer.leave();
    }),
    { numRuns: 3_000 },
  );
}, 60_000);

test("a succeeded write is never started again under a later lease", () => {
  const writes = fc.constantFrom(...classes.slice(1));
  fc.assert(
    fc.property(
      writes,
      fc.boolean(),
      fc.constantFrom("stored", "lease_lost", undefined),
      fc.boolean(),
      (sideEffectClass, breaks, verdict, lost) => {
        const core = createWorkerCore(config);
        const hear = (message: (WorkerInput & { type: "message" })["message"]): readonly WorkerOutput[] =>
          core.on({ type: "message", message }, 0);
        core.on({ type: "connected" }, 0);
        hear(registered);
        const invoke = invokeOf(sideEffectClass);
        hear(invoke);
        hear({ type: "go", callId: "c1", fence: 1 });
        if (lost) hear({ type: "cancel", callId: "c1", fence: 1, graceMs: 0, reason: "lost" });
        if (breaks) core.on({ type: "disconnected" }, 0);
        core.on({ type: "handler_ended", callId: "c1", fence: 1, end: ok }, 0);
        if (breaks) {
          core.on({ type: "connected" }, 0);
          hear(registered);
        }
        if (verdict !== undefined) hear({ type: "result_ack", callId: "c1", fence: 1, verdict });
        const answer: Result = {
          type: "result",
          callId: "c1",
          fence: 2,
          status: "succeeded",
          outputJson: '"ok"',
          usage: { durationMs: 0 },
        };
        expect(hear({ ...invoke, fence: 2 })).toContainEqual({ type: "send", message: answer });
        expect(hear({ type: "go", callId: "c1", fence: 2 })).toEqual([]);
      },
    ),
  );
});
