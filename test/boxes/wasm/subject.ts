// The wasm backend as tests run it: inside native boxes where this host has them, or without a box, which tests acknowledge.
import { NativeBackend } from "../../../packages/runtime/src/sandbox/backends/native/backend.ts";
import { WasmBackend } from "../../../packages/runtime/src/sandbox/backends/wasm/backend.ts";
import { makeGuestFolder } from "../../../packages/runtime/src/sandbox/backends/wasm/guest-folder.ts";
import type { Subject } from "../kit.ts";

/** What the kit may ask of guests. */
export const guestCapabilities: Omit<Subject, "backend"> = {
  has: new Set(["js", "wasm", "warm", "files"]),
  whyNot: "a guest is code in an interpreter: it starts no programs, and has no processes, kernel, devices or sockets",
};

export interface WasmSubject {
  readonly backend: WasmBackend;
  close(): Promise<void>;
}

export function boxedSubject({ bestEffort = false }: { bestEffort?: boolean } = {}): WasmSubject {
  const folder = makeGuestFolder();
  const outer = new NativeBackend({
    nodePath: process.execPath,
    guests: folder.guests,
    allowBestEffortLimits: bestEffort,
    onError: (error) => process.stderr.write(`native backend: ${error.message}\n`),
  });
  const backend = new WasmBackend({ folder, nodePath: process.execPath, outer });
  return {
    backend,
    async close() {
      await backend.close();
      await outer.close();
      folder.remove();
    },
  };
}

export function plainSubject(withoutOuterBox = true): WasmSubject {
  const folder = makeGuestFolder();
  const backend = new WasmBackend({ folder, nodePath: process.execPath, outer: null, withoutOuterBox });
  return {
    backend,
    async close() {
      await backend.close();
      folder.remove();
    },
  };
}
