// The sandbox worker: a process of its own that proves the isolation backends of this host, offers them, and runs calls in boxes.
import { makeId } from "@signalbox/protocol";
import { Worker, type TlsOptions } from "@signalbox/worker";
import { storeReader } from "../adapters/store/reader.ts";
import { systemChance } from "../adapters/system/crypto.ts";
import { NativeBackend } from "../sandbox/backends/native/backend.ts";
import { makeGuestFolder } from "../sandbox/backends/wasm/guest-folder.ts";
import { WasmBackend } from "../sandbox/backends/wasm/backend.ts";
import type { BackendName, Probe, SandboxBackend } from "../sandbox/types.ts";
import { runCall, type CallBoxes } from "./run-call.ts";

export interface BoxWorkerOptions {
  /** `host:port` of the runtime's gRPC door, or of those of its replicas. */
  readonly address: string | readonly string[];
  /** A key of the tenant `platform` with the scope workers:connect. */
  readonly key: string;
  readonly workerId?: string;
  /** Folder of the content store; packages and input files are opened from it. */
  readonly store: string;
  /** Boxes at once. */
  readonly capacity: number;
  /** Only these, where they work; absent = all that work. */
  readonly backends?: readonly string[];
  /** Limits by watching where there are no control groups; an operator says so by name. */
  readonly allowBestEffortLimits?: boolean;
  readonly tls?: boolean | TlsOptions;
  readonly insecure?: boolean;
  /** After so many calls, or so much age, it finishes what it holds and leaves; whoever started it starts another. */
  readonly recycle?: { readonly calls: number; readonly ageMs: number };
  readonly log: (message: string) => void;
}

export interface BoxWorker {
  readonly probes: Readonly<Record<string, Probe>>;
  /** Resolves when it has left. */
  readonly left: Promise<void>;
  stop(): Promise<void>;
}

export interface Backends {
  readonly all: readonly SandboxBackend[];
  /** Ends every box, and removes what the backends have laid down. */
  close(): Promise<void>;
}

export function makeBackends(options: Pick<BoxWorkerOptions, "allowBestEffortLimits" | "log">): Backends {
  const onError = (error: Error): void => options.log(`a box had trouble: ${error.message}`);
  const best = options.allowBestEffortLimits === true ? { allowBestEffortLimits: true } : {};
  const folder = makeGuestFolder();
  const native = new NativeBackend({ nodePath: process.execPath, guests: folder.guests, onError, ...best });
  // Its guests stand in native boxes; where there are none it does not work, and says why.
  const wasm = new WasmBackend({ folder, nodePath: process.execPath, outer: native });
  return {
    all: [native, wasm],
    async close() {
      await wasm.close();
      await native.close();
      folder.remove();
    },
  };
}

/** @returns what each backend can do here, proved by doing it */
export async function probeAll(backends: readonly SandboxBackend[]): Promise<Readonly<Record<string, Probe>>> {
  const probes = await Promise.all(backends.map(async (backend) => [backend.name, await backend.probe()] as const));
  return Object.fromEntries(probes);
}

export async function startBoxWorker(options: BoxWorkerOptions): Promise<BoxWorker> {
  const wanted = (name: BackendName): boolean => options.backends === undefined || options.backends.includes(name);
  const made = makeBackends(options);
  const offered = made.all.filter(({ name }) => wanted(name));
  const probes = await probeAll(offered);
  const proved = offered.filter(({ name }) => probes[name]?.ok === true);
  const chance = systemChance();
  const store = storeReader(options.store);
  const boxes: CallBoxes = {
    backends: new Map(proved.map((backend) => [backend.name, backend])),
    openPackage: (tenant, digest) => store.openPackage(tenant, digest),
    openFile: (tenant, digest) => store.openFile(tenant, digest),
    newBoxId: () => makeId("box", Date.now(), chance.bytes(10)),
    after: (ms) => AbortSignal.timeout(ms),
    onError: (error) => options.log(`a box was not cleaned up: ${error.message}`),
  };
  const { recycle } = options;
  let calls = 0;
  const worker = new Worker({
    address: options.address,
    key: options.key,
    capacity: options.capacity,
    log: options.log,
    pool: "sandbox",
    freeMemoryBytes: () => process.availableMemory(),
    ...(options.workerId === undefined ? {} : { workerId: options.workerId }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(options.insecure === undefined ? {} : { insecure: options.insecure }),
    boxes: {
      backends: proved.map(({ name }) => name),
      run: async (ctx, started) => {
        if (recycle !== undefined && ++calls >= recycle.calls) void worker.close();
        return runCall(boxes, ctx, started);
      },
    },
  });
  const aging = recycle === undefined ? undefined : setTimeout(() => void worker.close(), recycle.ageMs);
  aging?.unref();
  const work = async (): Promise<void> => {
    try {
      await worker.run();
    } finally {
      clearTimeout(aging);
      await made.close();
    }
  };
  return { probes, left: work(), stop: () => worker.close() };
}
