// The conformance kit for isolation backends: cases about what a tool sees in its box, and what is told of its end.
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type {
  BoxEnd,
  BoxFile,
  BoxLimits,
  BoxResult,
  BoxSpec,
  Invocation,
  Probe,
  Runtime,
  Sandbox,
  SandboxBackend,
} from "../../packages/runtime/src/sandbox/types.ts";

export const MiB = 1_024 * 1_024;

/**
 * What a case needs beside the interface: a runtime, or a promise that not every backend makes. `exact`: limits are held by
 * the kernel and their causes are known for certain.
 */
export type Capability = Runtime | "warm" | "exact" | "files" | "processes" | "linux" | "egress";

export interface Subject {
  readonly backend: SandboxBackend;
  readonly has: ReadonlySet<Capability>;
  /** In words, for what it will never have. */
  readonly whyNot?: string;
}

/** Small, so that a breach is soon there and costs the machine little. */
export const kitLimits: BoxLimits = {
  cpu: 1,
  cpuSeconds: 10,
  memoryBytes: 64 * MiB,
  diskBytes: 4 * MiB,
  pids: 32,
  fds: 64,
  timeoutMs: 10_000,
  graceMs: 300,
  outputBytes: 64 * 1_024,
  resultBytes: 64 * 1_024,
  egressBytes: 0,
};

/** What a tool said and how it ended. */
export interface Told extends BoxResult {
  readonly out: string;
  readonly err: string;
  readonly outBytes: number;
  readonly events: readonly string[];
  readonly warm: boolean;
}

export interface Ask {
  readonly runtime?: Runtime;
  /** Text of the entry. */
  readonly code: string;
  readonly limits?: Partial<BoxLimits>;
  readonly env?: Readonly<Record<string, string>>;
  readonly request?: string;
  readonly files?: readonly BoxFile[];
  readonly resultFrom?: Invocation["resultFrom"];
  readonly tenant?: string;
  readonly egressSocket?: string;
  readonly signal?: AbortSignal;
  /** Called with all of stdout so far. */
  readonly onOut?: (out: string) => void | Promise<void>;
}

export class CaseFailed extends Error {
  override readonly name = "CaseFailed";
}

export function must(held: boolean, what: string, seen?: unknown): asserts held {
  if (!held) throw new CaseFailed(seen === undefined ? what : `${what}; seen: ${short(seen)}`);
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}

export function mustExit(told: Told, code = 0): void {
  const good = told.end.reason === "exited" && told.end.code === code;
  must(good, `the tool should have exited with ${code}`, [told.end, told.out.slice(-200), told.err.slice(-300)]);
}

export function mustExceed(told: Told, resource: Extract<BoxEnd, { reason: "exceeded" }>["resource"]): void {
  const { end } = told;
  const seen = [end, told.out.slice(-200), told.err.slice(-300)];
  must(end.reason === "exceeded" && end.resource === resource, `the end should be exceeded(${resource})`, seen);
}

export class Kit {
  readonly backend: SandboxBackend;
  readonly #folder: string;
  #packages = new Map<string, string>();
  #boxes = 0;

  constructor(backend: SandboxBackend) {
    this.backend = backend;
    // mkdtemp makes it 0700: a package of the host's that no box's user could reach by itself.
    this.#folder = mkdtempSync(join(tmpdir(), "signalbox-kit-"));
  }

  /** A package with one entry, the same folder for the same code. */
  #package(code: string): { path: string; digest: string } {
    const known = this.#packages.get(code);
    const path = known ?? join(this.#folder, `package-${this.#packages.size}`);
    if (known === undefined) {
      mkdirSync(path, { mode: 0o700 });
      writeFileSync(join(path, "main"), code, { mode: 0o700 });
      this.#packages.set(code, path);
    }
    return { path, digest: `sha256:${Buffer.from(path).toString("hex")}` };
  }

  /** A unix socket of the host's that answers every connection with what `answer` makes of its first words. */
  async listen(answer: (said: string) => string): Promise<{ path: string; close(): void }> {
    const { createServer } = await import("node:net");
    const path = join(this.#folder, `egress-${(this.#boxes += 1)}.sock`);
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", (said) => socket.end(answer(said.toString())));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return { path, close: () => void server.close() };
  }

  hostFile(name: string, text: string): string {
    const path = join(this.#folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  spec({ runtime = "exec", code, limits, env, tenant = "kit", egressSocket }: Ask): BoxSpec {
    this.#boxes += 1;
    return {
      boxId: `kit-${process.pid}-${this.#boxes}-${randomBytes(3).toString("hex")}`,
      tenant,
      tool: "kit.tool",
      version: "1.0.0",
      runtime,
      entry: "main",
      package: this.#package(runtime === "exec" ? `#!/bin/sh\n${code}` : code),
      limits: { ...kitLimits, ...limits },
      env: env ?? {},
      egressSocket: egressSocket ?? null,
    };
  }

  async run(ask: Ask): Promise<Told> {
    const sandbox = await this.backend.provision(this.spec(ask), ask.signal ?? new AbortController().signal);
    try {
      return await this.runIn(sandbox, ask);
    } finally {
      await sandbox.destroy();
    }
  }

  async runIn(sandbox: Sandbox, ask: Ask): Promise<Told> {
    let [out, err, outBytes] = ["", "", 0];
    const events: string[] = [];
    const invocation = {
      requestJson: ask.request ?? "{}",
      files: ask.files ?? [],
      resultFrom: ask.resultFrom ?? "fd3",
    } as const;
    const io = {
      stdout: (chunk: Uint8Array): void | Promise<void> => {
        out += Buffer.from(chunk).toString();
        outBytes += chunk.length;
        return ask.onOut?.(out);
      },
      stderr: (chunk: Uint8Array): void => void (err += Buffer.from(chunk).toString()),
      event: (line: string): void => void events.push(line),
    };
    const result = await sandbox.run(invocation, io, ask.signal ?? new AbortController().signal);
    return { ...result, out, err, outBytes, events, warm: sandbox.warm };
  }

  sh(code: string, more: Omit<Ask, "code"> = {}): Promise<Told> {
    return this.run({ ...more, code });
  }

  python(code: string, more: Omit<Ask, "code"> = {}): Promise<Told> {
    return this.run({ ...more, code, runtime: "python" });
  }

  /** Node takes 40 MiB before it has done anything. */
  node(code: string, more: Omit<Ask, "code"> = {}): Promise<Told> {
    return this.run({ limits: { memoryBytes: 256 * MiB }, ...more, code, runtime: "node" });
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface KitCase {
  readonly group: string;
  readonly name: string;
  readonly needs: readonly Capability[];
  run(kit: Kit): Promise<void>;
}

export type Verdict =
  | { readonly case: KitCase; readonly outcome: "passed"; readonly ms: number }
  | { readonly case: KitCase; readonly outcome: "failed"; readonly ms: number; readonly message: string }
  | { readonly case: KitCase; readonly outcome: "unavailable"; readonly message: string };

export interface Verdicts {
  readonly probe: Probe;
  readonly items: readonly Verdict[];
}

/** Runs the cases one after another; what the backend cannot run is `unavailable`, and all is where its probe says no. */
export async function runKit(subject: Subject, cases: readonly KitCase[]): Promise<Verdicts> {
  const probe = await subject.backend.probe();
  if (!probe.ok) {
    const message = `${probe.reason}${probe.remedy === null ? "" : `; remedy: ${probe.remedy}`}`;
    return { probe, items: cases.map((each) => ({ case: each, outcome: "unavailable", message })) };
  }
  const kit = new Kit(subject.backend);
  const items: Verdict[] = [];
  try {
    for (const each of cases) items.push(await judge(kit, subject, each));
  } finally {
    kit.close();
  }
  return { probe, items };
}

async function judge(kit: Kit, { has, whyNot }: Subject, each: KitCase): Promise<Verdict> {
  const lacks = each.needs.filter((need) => !has.has(need));
  if (lacks.length > 0) {
    const message = `needs ${lacks.join(", ")}${whyNot === undefined ? "" : `; ${whyNot}`}`;
    return { case: each, outcome: "unavailable", message };
  }
  const startedAt = performance.now();
  try {
    await each.run(kit);
    return { case: each, outcome: "passed", ms: performance.now() - startedAt };
  } catch (error) {
    const message = error instanceof CaseFailed ? error.message : String((error as Error).stack ?? error);
    return { case: each, outcome: "failed", ms: performance.now() - startedAt, message };
  }
}

/** One case as data. */
export const kitCase = (
  group: string,
  name: string,
  needs: readonly Capability[],
  run: (kit: Kit) => Promise<void>,
): KitCase => ({ group, name, needs, run });
