// Runs code and modules in guests and gathers all that they say, for the tests of the wasm backend.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type {
  BoxFile,
  BoxLimits,
  BoxResult,
  BoxSpec,
  SandboxBackend,
} from "../../../packages/runtime/src/sandbox/types.ts";

const MiB = 1024 * 1024;

export const guestLimits: BoxLimits = {
  cpu: 1,
  cpuSeconds: 10,
  memoryBytes: 32 * MiB,
  diskBytes: 4 * MiB,
  pids: 1,
  fds: 16,
  timeoutMs: 5_000,
  graceMs: 0,
  outputBytes: 64 * 1024,
  resultBytes: 64 * 1024,
  egressBytes: 0,
};

export interface Said extends BoxResult {
  readonly out: string;
  readonly err: string;
  readonly events: readonly string[];
  readonly warm: boolean;
}

export interface Asked {
  readonly limits?: Partial<BoxLimits>;
  readonly env?: Readonly<Record<string, string>>;
  /** The whole request. */
  readonly requestJson?: string;
  readonly files?: readonly BoxFile[];
  readonly signal?: AbortSignal;
  readonly tenant?: string;
  /** Called with every chunk of stdout; a promise holds the guest back. */
  readonly onOut?: (chunk: string) => void | Promise<void>;
}

export class Guests {
  readonly backend: SandboxBackend;
  readonly #folder = mkdtempSync(join(tmpdir(), "signalbox-guests-"));
  #made = 0;

  constructor(backend: SandboxBackend) {
    this.backend = backend;
  }

  spec(fields: Pick<BoxSpec, "runtime" | "entry" | "package">, { limits, env, tenant = "acme" }: Asked = {}): BoxSpec {
    this.#made += 1;
    return {
      boxId: `guest-${process.pid}-${this.#made}`,
      tenant,
      tool: "guest.test",
      version: "1.0.0",
      ...fields,
      limits: { ...guestLimits, ...limits },
      env: env ?? {},
      egressSocket: null,
    };
  }

  /** Source in the arguments, as `code.run` has it. */
  code(code: string, asked: Asked = {}, inputJson = "null"): Promise<Said> {
    const requestJson = `{"args":{"code":${JSON.stringify(code)},"input":${inputJson}},"context":{},"secrets":{}}\n`;
    return this.run(this.codeSpec(asked), { requestJson, ...asked });
  }

  codeSpec(asked: Asked = {}): BoxSpec {
    return this.spec({ runtime: "js", entry: "code", package: null }, asked);
  }

  /** A folder with these texts as its files. */
  package(files: Readonly<Record<string, string>>): NonNullable<BoxSpec["package"]> {
    const path = join(this.#folder, `package-${(this.#made += 1)}`);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
    return { path, digest: `sha256:${Buffer.from(path).toString("hex")}` };
  }

  script(files: Readonly<Record<string, string>>, asked: Asked = {}): Promise<Said> {
    return this.run(this.spec({ runtime: "js", entry: "index.js", package: this.package(files) }, asked), asked);
  }

  /** One of the fixtures. */
  module(name: string, asked: Asked = {}): Promise<Said> {
    const folder = this.package({ "package.txt": "of the package" });
    copyFileSync(fileURLToPath(new URL(`fixtures/${name}.wasm`, import.meta.url)), join(folder.path, "tool.wasm"));
    return this.run(this.spec({ runtime: "wasm", entry: "tool.wasm", package: folder }, asked), asked);
  }

  /** Bytes in place of a module. */
  bytes(bytes: Uint8Array): Promise<Said> {
    const folder = this.package({});
    mkdirSync(folder.path, { recursive: true });
    writeFileSync(join(folder.path, "tool.wasm"), bytes);
    return this.run(this.spec({ runtime: "wasm", entry: "tool.wasm", package: folder }), {});
  }

  hostFile(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  async run(spec: BoxSpec, { requestJson, files, signal, onOut }: Asked): Promise<Said> {
    const stop = signal ?? new AbortController().signal;
    const box = await this.backend.provision(spec, stop);
    let [out, err] = ["", ""];
    const events: string[] = [];
    const io = {
      stdout(chunk: Uint8Array): void | Promise<void> {
        const text = Buffer.from(chunk).toString();
        out += text;
        return onOut?.(text);
      },
      stderr: (chunk: Uint8Array): void => void (err += Buffer.from(chunk).toString()),
      event: (line: string): void => void events.push(line),
    };
    try {
      const request = requestJson ?? `{"args":{},"context":{},"secrets":{}}\n`;
      const result = await box.run({ requestJson: request, files: files ?? [], resultFrom: "fd3" }, io, stop);
      return { ...result, out, err, events, warm: box.warm };
    } finally {
      await box.destroy();
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
