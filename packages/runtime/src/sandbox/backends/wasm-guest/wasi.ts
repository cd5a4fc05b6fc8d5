// Runs a WASI preview 1 module: compiled with our maximum written into it, given our few functions, started once.
import { failedExitCode, messageCharsMax, type GuestEnd } from "../../guest/end.ts";
import { boundModule, pageBytes } from "../../guest/wasi/binary.ts";
import { GuestExit, createPreview1 } from "../../guest/wasi/preview1.ts";
import type { Preview1Ports } from "../../guest/wasi/ports.ts";
import { wasm, type WasmMemory, type WasmModule } from "./engine.ts";

const wasiModule = "wasi_snapshot_preview1";

export type ReadyWasi =
  | { readonly ok: true; readonly module: WasmModule; readonly memoryBytes: number }
  | { readonly ok: false; readonly end: GuestEnd };

/** Checks and compiles; what is wrong with a module is said when it is run. */
export async function readyWasi(bytes: Uint8Array, memoryBytes: number): Promise<ReadyWasi> {
  const bounded = boundModule(bytes, memoryBytes);
  if (!bounded.ok) {
    const { message, memoryBytes: observed } = bounded;
    if (observed === null) return { ok: false, end: { reason: "failed", message } };
    return { ok: false, end: { reason: "exceeded", resource: "memory", limit: memoryBytes, observed } };
  }
  try {
    const module = await wasm.compile(bounded.bytes);
    const problem = shapeProblem(module);
    if (problem !== null) return { ok: false, end: { reason: "failed", message: problem } };
    return { ok: true, module, memoryBytes };
  } catch (error) {
    return { ok: false, end: { reason: "failed", message: `the module is not valid: ${messageOf(error)}` } };
  }
}

function shapeProblem(module: WasmModule): string | null {
  for (const { module: from, name, kind } of wasm.Module.imports(module)) {
    if (from !== wasiModule || kind !== "function") {
      return `the module imports the ${kind} "${from}.${name}"; only functions of "${wasiModule}" are given`;
    }
  }
  const exported = new Map(wasm.Module.exports(module).map(({ name, kind }) => [name, kind]));
  if (exported.get("memory") !== "memory") return `the module exports no memory under the name "memory"`;
  if (exported.get("_start") !== "function") return `the module exports no function "_start": it must be a command`;
  return null;
}

export type WasiPorts = Omit<Preview1Ports, "memory">;

/** Runs to the module's end. A loop without end is the clock's affair, outside: no engine can be asked to stop from within. */
export function runWasi(
  { module, memoryBytes }: Extract<ReadyWasi, { readonly ok: true }>,
  ports: WasiPorts,
): GuestEnd {
  let memory: WasmMemory | null = null;
  const imports = createPreview1({ ...ports, memory: () => memory?.buffer ?? new ArrayBuffer(0) });
  const used = (): number => memory?.buffer.byteLength ?? 0;
  try {
    const instance = new wasm.Instance(module, { [wasiModule]: imports });
    memory = instance.exports["memory"] as WasmMemory;
    (instance.exports["_start"] as () => void)();
    return { reason: "done", resultText: null };
  } catch (error) {
    const limit = Math.floor(memoryBytes / pageBytes) * pageBytes;
    if (error instanceof GuestExit) {
      if (error.code === 0) return { reason: "done", resultText: null };
      return isFull(used(), limit)
        ? overMemory(limit)
        : { reason: "exited", code: error.code & 0xff || failedExitCode };
    }
    if (!isModulesDoing(error)) throw error;
    if (isUnreachable(error) && isHalfFull(used(), limit)) return overMemory(limit);
    return { reason: "failed", message: `the module trapped: ${messageOf(error)}` };
  }
}

/** What it asked for is not known, only that it was more than the limit leaves. */
const overMemory = (limit: number): GuestEnd => ({ reason: "exceeded", resource: "memory", limit, observed: limit });

/**
 * A module grows its memory without asking us, so a refused growth is only seen by what it leaves: allocators abort, which is
 * an `unreachable`, with a memory that could not double any more; programs that check leave with an error and no room.
 */
const isHalfFull = (used: number, limit: number): boolean => used > limit / 2;
const isFull = (used: number, limit: number): boolean => used > limit - limit / 16;

const isUnreachable = (error: unknown): boolean => error instanceof Error && error.message.includes("unreachable");

/** A trap, an exception that nobody caught, or a stack that ran out: each of them the module's. */
function isModulesDoing(error: unknown): boolean {
  return (
    error instanceof wasm.RuntimeError ||
    error instanceof wasm.LinkError ||
    error instanceof wasm.Exception ||
    (error instanceof RangeError && error.message.includes("call stack"))
  );
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : "an exception that it did not catch").slice(0, messageCharsMax);
}
