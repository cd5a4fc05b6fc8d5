// Puts the guest program together in a folder of its own, with nothing beside it that the program does not import.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Guest } from "../native/types.ts";

export interface GuestFolder {
  readonly path: string;
  /** Below the folder. */
  readonly entry: string;
  /** For the native backend: the same program serves both runtimes, its order tells it which. */
  readonly guests: Readonly<Record<"js" | "wasm", Guest>>;
  remove(): void;
}

/** Files of a package's `dist` that the guest needs: no source maps, no types, no engines of other kinds. */
const script = /\.mjs$/;
const scriptOrModule = /\.(mjs|wasm)$/;
/** The first package names all its variants when it is loaded, and loads their engines only when they are used. */
const nameOnly = /^index\.mjs$/;
const packages: Readonly<Record<string, RegExp>> = {
  "quickjs-emscripten": script,
  "quickjs-emscripten-core": script,
  "@jitl/quickjs-ffi-types": script,
  "@jitl/quickjs-wasmfile-release-sync": scriptOrModule,
  "@jitl/quickjs-wasmfile-release-asyncify": nameOnly,
  "@jitl/quickjs-wasmfile-debug-sync": nameOnly,
  "@jitl/quickjs-wasmfile-debug-asyncify": nameOnly,
};

/** Of the host's own JavaScript heap; what a guest holds lies in its linear memory beside it. */
const heapMiB = 96;
/**
 * Bytes of a guest's code that run before the optimising compiler looks at them; 13 million if not said. A process cannot
 * exit while it compiles: with the default, every short run pays some 40 ms for code that it never uses again.
 */
const tieringBudgetBytes = 2_000_000_000;

/**
 * What Node is started with. A guest that broke out of its interpreter would stand in a process that cannot make code from
 * text, start a process or a thread, load an addon, or open a file elsewhere; the box around it holds all of that as well.
 * @param readable folders that the program may read
 */
export function nodeArgs(readable: readonly string[]): readonly string[] {
  return [
    `--max-old-space-size=${heapMiB}`,
    `--wasm-tiering-budget=${tieringBudgetBytes}`,
    "--disallow-code-generation-from-strings",
    "--no-addons",
    "--permission",
    ...readable.map((path) => `--allow-fs-read=${path}/`),
  ];
}

const prefix = "signalbox-guest-";

/** Removes what workers left that were killed; a number that somebody else has by now keeps its folder a while longer. */
function sweep(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(prefix))) {
    const owner = /^(\d+)-/.exec(name.slice(prefix.length))?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // Another user's: it is his to remove.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** @param parent where the folder is made; the system's folder for temporary files if not given */
export function makeGuestFolder(parent = tmpdir()): GuestFolder {
  sweep(parent);
  const path = mkdtempSync(join(parent, `${prefix}${process.pid}-`));
  // Readable for the users of boxes; there is nothing secret in it.
  chmodSync(path, 0o755);
  const program = fileURLToPath(new URL("../..", import.meta.url));
  for (const part of ["guest", join("backends", "wasm-guest")]) {
    cpSync(join(program, part), join(path, "sandbox", part), { recursive: true, filter: isProgram });
  }
  for (const [name, wanted] of Object.entries(packages)) copyPackage(name, wanted, join(path, "node_modules", name));
  writeFileSync(join(path, "package.json"), JSON.stringify({ type: "module", private: true }));
  const entry = join("sandbox", "backends", "wasm-guest", `main${extname(fileURLToPath(import.meta.url))}`);
  const guest: Guest = {
    folder: path,
    entry,
    nodeArgs: nodeArgs(["/guest", "/package", "/workspace"]),
    parksItself: true,
  };
  return {
    path,
    entry,
    guests: { js: guest, wasm: guest },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

function isProgram(path: string): boolean {
  return extname(path) === "" || (/\.[jt]s$/.test(path) && !/\.(test|d)\.[jt]s$/.test(path));
}

function copyPackage(name: string, wanted: RegExp, to: string): void {
  const from = packageRoot(name);
  mkdirSync(join(to, "dist"), { recursive: true });
  cpSync(join(from, "package.json"), join(to, "package.json"));
  for (const file of readdirSync(join(from, "dist")).filter((each) => wanted.test(each))) {
    cpSync(join(from, "dist", file), join(to, "dist", file));
  }
}

/** Packages that the first one brings along are found from where it stands. */
function packageRoot(name: string): string {
  const own = createRequire(import.meta.url);
  const first = own.resolve("quickjs-emscripten");
  const found = name === "quickjs-emscripten" ? first : createRequire(first).resolve(name);
  // Its entry stands in `dist`.
  return dirname(dirname(found));
}
