// The wasm backend: guests in WebAssembly, each inside a process that a native box holds; without the box only by acknowledgement.
import { randomBytes } from "node:crypto";
import { readEndLine, type ToldEnd } from "../../guest/end.ts";
import { codeEntry } from "../../guest/order.ts";
import { backendRanks, type BoxIo, type BoxSpec, type Probe, type Sandbox, type SandboxBackend } from "../../types.ts";
import type { GuestFolder } from "./guest-folder.ts";
import { guestProblems, guestResult, outerSpec } from "./order.ts";
import { createPlainOuter, type OuterBackend } from "./plain.ts";

export interface WasmOptions {
  /** What the native backend was given as its guests; removed by its maker, after this backend was closed. */
  readonly folder: GuestFolder;
  /** Node for the guest where no box holds it. */
  readonly nodePath: string;
  /** The native backend; null where the host has none. It is its owner's to close. */
  readonly outer: SandboxBackend | null;
  /** The operator's word that guests may run without a box around them, at a lower rank. */
  readonly withoutOuterBox?: boolean;
}

const canaryCode = "main = (input) => input + 1";

const canarySpec: BoxSpec = {
  boxId: "canary-wasm",
  tenant: "platform",
  tool: "canary",
  version: "1.0.0",
  runtime: "js",
  entry: codeEntry,
  package: null,
  limits: {
    cpu: 1,
    cpuSeconds: 5,
    memoryBytes: 32 * 1024 * 1024,
    diskBytes: 1024 * 1024,
    pids: 1,
    fds: 16,
    timeoutMs: 2_000,
    graceMs: 0,
    outputBytes: 64 * 1024,
    resultBytes: 1_024,
    egressBytes: 0,
  },
  env: {},
  egressSocket: null,
};

export class WasmBackend implements SandboxBackend {
  readonly name = "wasm";
  readonly #options: WasmOptions;
  /** One for this backend's life, so that parked boxes of a class stay alike. Guests never see it. */
  readonly #nonce = randomBytes(16).toString("hex");
  readonly #plain: OuterBackend;
  readonly #alive = new Set<Sandbox>();
  #outer: Promise<Held> | undefined;
  #closed = false;

  constructor(options: WasmOptions) {
    this.#options = options;
    this.#plain = createPlainOuter(options.nodePath, options.folder);
  }

  /** What holds guests on this host, found out once. */
  #held(): Promise<Held> {
    return (this.#outer ??= this.#find());
  }

  async #find(): Promise<Held> {
    const { outer, withoutOuterBox } = this.#options;
    const probed: Probe =
      outer === null ? { ok: false, reason: "this host has no native boxes", remedy: null } : await outer.probe();
    if (outer !== null && probed.ok) return { outer, probe: { ...probed, rank: backendRanks.wasm } };
    if (probed.ok) throw new Error("a backend that is not there cannot be fine");
    if (withoutOuterBox !== true) {
      const reason = `no native box can stand around a guest here: ${probed.reason}`;
      return { outer: null, probe: { ok: false, reason, remedy: probed.remedy } };
    }
    return { outer: this.#plain, probe: await this.#plain.probe() };
  }

  async probe(): Promise<Probe> {
    try {
      const { outer, probe } = await this.#held();
      if (outer === null || !probe.ok) return probe;
      const problem = await this.#canary();
      if (problem !== null) return { ok: false, reason: problem, remedy: null };
      return { ...probe, notes: [...probe.notes, "JavaScript runs in QuickJS, modules with WASI preview 1"] };
    } catch (error) {
      return { ok: false, reason: (error as Error).message, remedy: null };
    }
  }

  async #canary(): Promise<string | null> {
    const silent: BoxIo = { stdout: () => undefined, stderr: () => undefined, event: () => undefined };
    const box = await this.provision(canarySpec, AbortSignal.timeout(10_000));
    try {
      const request = { args: { code: canaryCode, input: 41 }, context: {}, secrets: {} };
      const invocation = { requestJson: JSON.stringify(request), files: [], resultFrom: "fd3" } as const;
      const { end, resultText, stderrTail } = await box.run(invocation, silent, new AbortController().signal);
      if (resultText === "42") return null;
      return `a first guest ended wrongly: ${JSON.stringify(end)} ${stderrTail}`.trim();
    } finally {
      await box.destroy();
    }
  }

  async provision(spec: BoxSpec, signal: AbortSignal): Promise<Sandbox> {
    if (this.#closed) throw new Error("the wasm backend is closed");
    const problems = guestProblems(spec);
    if (problems.length > 0) throw new Error(`the wasm backend cannot make this box: ${problems.join("; ")}`);
    const { outer, probe } = await this.#held();
    if (outer === null) throw new Error(probe.ok ? "no box for guests" : probe.reason);
    const inner = await outer.provision(outerSpec(spec, this.#nonce), signal);
    const box = this.#guest(spec, inner);
    this.#alive.add(box);
    return box;
  }

  #guest(spec: BoxSpec, inner: Sandbox): Sandbox {
    const nonce = this.#nonce;
    const guest: Sandbox = {
      boxId: spec.boxId,
      warm: inner.warm,
      async run(invocation, io, signal) {
        let told: ToldEnd | null = null;
        const listening: BoxIo = {
          stdout: (chunk) => io.stdout(chunk),
          stderr: (chunk) => io.stderr(chunk),
          event(line) {
            const end = readEndLine(nonce, line);
            if (end === null) return io.event(line);
            told ??= end;
          },
        };
        const result = await inner.run(invocation, listening, signal);
        return guestResult(result, told, spec.limits);
      },
      destroy: async () => {
        this.#alive.delete(guest);
        await inner.destroy();
      },
    };
    return guest;
  }

  warm(spec: BoxSpec, count: number): void {
    if (this.#closed || guestProblems(spec).length > 0) return;
    const fill = async (): Promise<void> => (await this.#held()).outer?.warm?.(outerSpec(spec, this.#nonce), count);
    // A host without boxes says so when it is asked for one.
    fill().catch(() => undefined);
  }

  /** The outer backend stays open: it has boxes of its own. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#alive].map((box) => box.destroy()));
  }
}

interface Held {
  readonly outer: OuterBackend | null;
  readonly probe: Probe;
}
