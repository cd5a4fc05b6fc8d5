// Runs JavaScript in QuickJS, an interpreter inside a WebAssembly instance of its own: one instance, one memory, one run.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  RELEASE_SYNC,
  type QuickJSContext,
  type QuickJSRuntime,
} from "quickjs-emscripten";
import type { GuestEnd } from "../../guest/end.ts";
import { preludeSource } from "../../guest/javascript/prelude.ts";
import { codeFileName, type GuestSource } from "../../guest/javascript/source.ts";
import { importedPath, lookUp, type GuestFolders } from "../../guest/tree.ts";
import { pageBytes } from "../../guest/wasi/binary.ts";
import { evaluate, type Realm } from "./javascript-evaluate.ts";
import { bindHost, type HostPorts } from "./javascript-host.ts";
import { createVerdict } from "./javascript-verdict.ts";
import { wasm, type WasmModule } from "./engine.ts";
import { watchedMemory } from "./watched-memory.ts";

/** The engine is built with this much; less does not link. */
const pagesMin = 256;
/** Of the interpreter's own stack. Beyond it the host's stack would run out first, and take the instance along. */
const stackBytesMax = 256 * 1024;

export interface JsLimits {
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly resultBytes: number;
}

export interface JsPorts extends HostPorts {
  monotonicMs(): number;
}

/** An instance that has run nothing of a tool's yet. */
export interface ReadyJs {
  /** Once. Runs until the code is done, has failed, or used up its time or memory. */
  run(source: GuestSource, folders: GuestFolders, env: Readonly<Record<string, string>>): GuestEnd;
}

/** The engine's module, compiled once a process. */
export function compileEngine(): Promise<WasmModule> {
  const fromPackage = createRequire(createRequire(import.meta.url).resolve("quickjs-emscripten/package.json"));
  return wasm.compile(readFileSync(fromPackage.resolve("@jitl/quickjs-wasmfile-release-sync/wasm")));
}

export async function readyJs(engine: WasmModule, limits: JsLimits, ports: JsPorts): Promise<ReadyJs> {
  const watched = watchedMemory(pagesMin, Math.max(pagesMin, Math.floor(limits.memoryBytes / pageBytes)));
  const variant = newVariant(RELEASE_SYNC, {
    wasmModule: engine,
    wasmMemory: watched.memory,
  });
  const quickjs = await newQuickJSWASMModuleFromVariant(variant);
  const runtime = quickjs.newRuntime();
  runtime.setMaxStackSize(stackBytesMax);
  const context = runtime.newContext();
  const verdict = createVerdict({ limits, watched, monotonicMs: ports.monotonicMs });
  let folders: GuestFolders | null = null;
  const host = bindHost(context, {
    ports,
    folders: () => folders,
    noteTooLarge: verdict.noteTooLarge,
    resultCharsMax: limits.resultBytes,
  });
  const realm: Realm = { context, prelude: layPrelude(context, host), isOver: verdict.isOver };
  host.dispose();
  return {
    run(source, given, env) {
      folders = given;
      if (source.fileName !== codeFileName) importFrom(runtime, given);
      verdict.start();
      runtime.setInterruptHandler(verdict.isOver);
      return verdict.of(() => evaluate(realm, source, env));
    },
  };
}

/** Touches what nearly every run touches. */
const warmCode = `const seen = []; for (const each of [1, 2.5, "a", { b: [true, null] }]) seen.push(JSON.stringify(each));
function main(input) { return Promise.resolve({ input, seen, text: \`\${new Date(0).toISOString()}\`.replace(/T.*/, "") }); }`;

/** Whatever the tool's own limits are. */
const warmLimits: JsLimits = { memoryBytes: 2 * pagesMin * pageBytes, timeoutMs: 5_000, resultBytes: 1_024 };

/**
 * Runs a little code in an instance that is thrown away. The host compiles the engine's functions when they are first
 * called, once for all instances: a guest that was parked after this has most of that behind it.
 */
export async function warmUp(engine: WasmModule, monotonicMs: () => number): Promise<void> {
  const ready = await readyJs(engine, warmLimits, { write: () => undefined, event: () => undefined, monotonicMs });
  const none: GuestFolders["package"] = { kind: "dir", entries: new Map() };
  const source: GuestSource = { code: warmCode, fileName: codeFileName, input: "1", context: "{}", secrets: "{}" };
  const { reason } = ready.run(source, { package: none, workspace: none }, {});
  if (reason !== "done") throw new Error(`the JavaScript engine does not work here: ${reason}`);
}

function layPrelude(context: QuickJSContext, host: Parameters<QuickJSContext["setProp"]>[0]): Realm["prelude"] {
  const lay = context.unwrapResult(context.evalCode(preludeSource, "prelude.js"));
  const laid = context.unwrapResult(context.callFunction(lay, context.undefined, host));
  lay.dispose();
  const part = (name: string) => context.getProp(laid, name);
  return { begin: part("begin"), finish: part("finish"), describe: part("describe") };
}

/** No path in a package begins like this. */
const foreign = "//";

/**
 * Packaged tools import their own files, by relative paths, from the package alone. The engine loses an error that resolving
 * a name ends with, so a name that leads elsewhere is resolved to one that cannot be loaded.
 */
function importFrom(runtime: QuickJSRuntime, folders: GuestFolders): void {
  runtime.setModuleLoader(
    (name) => {
      if (name.startsWith(foreign)) {
        const asked = JSON.stringify(name.slice(foreign.length));
        return { error: new Error(`${asked} cannot be imported: only files of the package can, by a relative path`) };
      }
      const found = lookUp([folders.package], name);
      if (!found.found || found.node.kind !== "file") return { error: new Error(`the package has no file ${name}`) };
      return new TextDecoder().decode(found.node.read());
    },
    (from, name) => importedPath(from, name) ?? `${foreign}${name}`,
  );
}
