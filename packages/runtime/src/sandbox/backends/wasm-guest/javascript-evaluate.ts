// Takes one source through the interpreter: which of three forms it has, what it makes of the input, and that as JSON text.
import type { QuickJSContext, QuickJSHandle } from "quickjs-emscripten";
import type { GuestSource } from "../../guest/javascript/source.ts";
import { CodeFailure } from "./javascript-verdict.ts";

export interface Realm {
  readonly context: QuickJSContext;
  /** Functions of the guest's realm that the prelude left for us. */
  readonly prelude: { readonly begin: QuickJSHandle; readonly finish: QuickJSHandle; readonly describe: QuickJSHandle };
  isOver(): boolean;
}

/** Promise jobs between two looks at the clock: jobs of the engine's own functions alone never come to the interpreter's looks. */
const jobsPerLook = 512;

/** Flags of the engine's `eval` that its options do not name. */
const evalFlags = { script: 0, compileOnly: 1 << 5, topLevelAwait: 1 << 7 } as const;

/**
 * The contract of a source: a script, whose `main(input)` is called if it has one and whose last expression counts if not; the
 * body of a function, when it has a `return` at the top; a module, whose `default` (or `main`) is called or taken.
 * @throws CodeFailure
 */
export function evaluate(realm: Realm, source: GuestSource, env: Readonly<Record<string, string>>): string {
  const { context, prelude } = realm;
  const { input, context: callContext, secrets } = source;
  call(
    realm,
    prelude.begin,
    ...[input, input, callContext, secrets, JSON.stringify(env)].map((text) => context.newString(text)),
  );
  const value = settled(realm, valueOf(realm, source));
  return context.getString(call(realm, prelude.finish, value));
}

function valueOf(realm: Realm, source: GuestSource): QuickJSHandle {
  const { context } = realm;
  const asScript = compiles(realm, source.code, source.fileName);
  if (asScript === null) {
    const outcome = settled(realm, run(realm, source.code, source.fileName, evalFlags.topLevelAwait));
    const main = run(realm, `typeof main === "function" ? main : undefined`, "main.js", evalFlags.script);
    return context.typeof(main) === "function" ? callMain(realm, main) : context.getProp(outcome, "value");
  }
  const body = `(async () => {${source.code}\n})()`;
  if (compiles(realm, body, source.fileName) === null) return run(realm, body, source.fileName, evalFlags.script);
  if (!looksLikeModule(source.code)) throw new CodeFailure(asScript);
  return moduleValue(realm, source);
}

/** Only chooses which syntax error to report: the engine alone decides what a module is. */
function looksLikeModule(code: string): boolean {
  return /(^|[\s;}])(export|import)[\s{*"']/.test(code);
}

function moduleValue(realm: Realm, source: GuestSource): QuickJSHandle {
  const { context } = realm;
  const result = context.evalCode(source.code, source.fileName, { type: "module" });
  const space = settled(realm, result.error ? fail(realm, result.error) : result.value);
  for (const name of ["default", "main"]) {
    const exported = context.getProp(space, name);
    if (context.typeof(exported) === "function") return callMain(realm, exported);
    if (context.typeof(exported) !== "undefined") return exported;
  }
  throw new CodeFailure("the module exports neither `default` nor `main`: nothing is its result");
}

function callMain(realm: Realm, main: QuickJSHandle): QuickJSHandle {
  return call(realm, main, realm.context.getProp(realm.context.global, "input"));
}

/** Null when it compiles, else the syntax error. Nothing is run. */
function compiles(realm: Realm, code: string, fileName: string): string | null {
  const result = realm.context.evalCode(code, fileName, evalFlags.compileOnly | evalFlags.topLevelAwait);
  if (result.error) return thrown(realm, result.error);
  result.value.dispose();
  return null;
}

function run(realm: Realm, code: string, fileName: string, flags: number): QuickJSHandle {
  const result = realm.context.evalCode(code, fileName, flags);
  return result.error ? fail(realm, result.error) : result.value;
}

function call(realm: Realm, callee: QuickJSHandle, ...args: QuickJSHandle[]): QuickJSHandle {
  const result = realm.context.callFunction(callee, realm.context.undefined, ...args);
  return result.error ? fail(realm, result.error) : result.value;
}

/** Runs promise jobs until a value that is a promise has an end; other values are their own end. */
function settled(realm: Realm, value: QuickJSHandle): QuickJSHandle {
  const { context } = realm;
  for (;;) {
    const state = context.getPromiseState(value);
    if (state.type === "fulfilled") return state.value;
    if (state.type === "rejected") return fail(realm, state.error);
    if (realm.isOver()) throw new CodeFailure("interrupted");
    const jobs = context.runtime.executePendingJobs(jobsPerLook);
    if (jobs.error) return fail(realm, jobs.error);
    if (jobs.value === 0 && context.getPromiseState(value).type === "pending") {
      throw new CodeFailure("the result waits for a promise that nothing is left to settle");
    }
  }
}

function fail(realm: Realm, error: QuickJSHandle): never {
  throw new CodeFailure(thrown(realm, error));
}

/** What was thrown, as text that the guest's own realm makes of it. */
function thrown(realm: Realm, error: QuickJSHandle): string {
  const { context, prelude } = realm;
  const result = context.callFunction(prelude.describe, context.undefined, error);
  if (result.error) return "something was thrown that cannot be described";
  return context.typeof(result.value) === "string" ? context.getString(result.value).trimEnd() : "";
}
