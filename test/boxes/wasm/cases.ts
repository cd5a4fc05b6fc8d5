// What every guest must do and survive, whatever stands around it; each case is run with a box and without one.
import type { BoxEnd } from "../../../packages/runtime/src/sandbox/types.ts";
import type { Asked, Guests, Said } from "./guests.ts";
import { mustMatch } from "./must-match.ts";

export interface GuestCase {
  readonly name: string;
  run(guests: Guests): Promise<void>;
}

/** What must be there of all that is told; an expression stands for texts that it matches. */
type Wanted = { readonly [field in keyof Said]?: Said[field] | RegExp };

const MiB = 1024 * 1024;
const short = { limits: { timeoutMs: 400 } };

const exited = (code: number): BoxEnd => ({ reason: "exited", code });
const memory = (limit: number) => ({ reason: "exceeded", resource: "memory", limit }) as const;

/** A fixture, how it must end, and what it must have said. */
const module = (name: string, end: Partial<BoxEnd>, said: Wanted = {}, asked: Asked = {}): GuestCase => ({
  name: `module ${name}`,
  async run(guests) {
    mustMatch(await guests.module(name, asked), { ...said, end });
  },
});

const code = (name: string, source: string, end: Partial<BoxEnd>, said: Wanted = {}, asked: Asked = {}): GuestCase => ({
  name,
  async run(guests) {
    mustMatch(await guests.code(source, asked), { ...said, end });
  },
});

const echoed = `{"args":{"n":12345678901234567890},"context":{},"secrets":{}}`;

export const moduleCases: readonly GuestCase[] = [
  module("echo", exited(0), { resultText: echoed }, { requestJson: `${echoed}\n` }),
  module("exit-7", exited(7), { stderrTail: "no luck\n", resultText: null }),
  module("events", exited(0), { events: [`{"log":"hello"}`, `{"signalbox_end":"guess","reason":"timeout"}`] }),
  module("clock", exited(0), { resultText: "1" }),
  module("abort", exited(1), { err: "the module trapped: unreachable\n" }),
  module("recurse", exited(1), { err: "the module trapped: Maximum call stack size exceeded\n" }),
  module("grow", memory(32 * MiB)),
  module("huge-memory", { ...memory(32 * MiB), observed: 60_000 * 65_536 }),
  module("huge-table", exited(1), {
    err: "a table of the module has 10000000 entries; at most 100000 are allowed\n",
  }),
  module("foreign-import", exited(1), {
    err: `the module imports the function "env.system"; only functions of "wasi_snapshot_preview1" are given\n`,
  }),
  module("swallow-exit", exited(3), { out: "" }),
  module("spin", { reason: "timeout" }, {}, short),
  module("sleep", { reason: "timeout" }, {}, short),
  {
    name: "module paths: nothing but the declared files, to read",
    async run(guests) {
      const files = [
        { path: "data.txt", hostPath: guests.hostFile("data", "hello") },
        { path: "inner/a.txt", hostPath: guests.hostFile("inner", "hello") },
      ];
      // Found, absent, not capable, not capable, absent, not capable, absent, read-only, read-only.
      mustMatch(await guests.module("paths", { files }), {
        end: exited(0),
        resultText: "00 44 76 76 44 76 44 69 69 ",
      });
    },
  },
  {
    name: "what is no module is the tool's failure",
    async run(guests) {
      for (const bytes of ["", "\x7fELF", "\0asm\x01\0\0\0\x01\x05"]) {
        const { end, err } = await guests.bytes(Buffer.from(bytes, "latin1"));
        mustMatch({ end, err }, { end: exited(1), err: /not a WebAssembly core module|cut off/ });
      }
      const noStart = Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
      mustMatch(await guests.bytes(noStart), { end: exited(1), err: /exports no memory/ });
      // A function section without its code: only the engine sees that.
      const invalid = Uint8Array.from([...noStart, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0]);
      mustMatch(await guests.bytes(invalid), { end: exited(1), err: /not valid/ });
    },
  },
  {
    name: "an entry that is not in the package is the tool's failure",
    async run(guests) {
      for (const runtime of ["js", "wasm"] as const) {
        const spec = guests.spec({ runtime, entry: "absent", package: guests.package({ "other.txt": "" }) });
        mustMatch(await guests.run(spec, {}), { end: exited(1), err: "the package has no file absent\n" });
      }
    },
  },
];

export const scriptCases: readonly GuestCase[] = [
  code(
    "a result comes back, and what was printed",
    "console.log('hi'); console.warn('ho'); [input, 1 + 1]",
    exited(0),
    {
      resultText: "[null,2]",
      out: "hi\n",
      err: "ho\n",
    },
  ),
  code("an error goes to stderr", "throw new TypeError('no')", exited(1), {
    resultText: null,
    stderrTail: /^TypeError: no\n/,
  }),
  code("events", "progress(50, 'half'); emit('seen', { n: 1 })", exited(0), {
    events: [`{"progress":{"percent":50,"message":"half"}}`, `{"emit":{"type":"seen","payload":{"n":1}}}`],
  }),
  code(
    "a loop in the interpreter is stopped from within",
    "for (;;) { try { for (;;); } catch {} }",
    { reason: "timeout" },
    {},
    short,
  ),
  code(
    "a loop in the engine's own code is stopped from outside",
    "new Array(2 ** 32 - 1).join('x')",
    { reason: "timeout" },
    {},
    short,
  ),
  code("a memory bomb", "const a = []; for (;;) a.push(new Array(1e5).fill(7))", memory(32 * MiB)),
  code("a text that doubles", "let s = 'x'; const a = []; for (;;) { s += s; a.push(s.slice(1)) }", memory(32 * MiB)),
  code("deep recursion", "function f() { return f() + 1 } f()", exited(1), {
    stderrTail: /^InternalError: stack overflow/,
  }),
  code("deep data", "JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))", exited(1), {
    err: "RangeError: the code or its data is nested too deeply\n",
  }),
  code("a result over its limit", "'x'.repeat(100000)", {
    reason: "exceeded",
    resource: "output",
    limit: 65_536,
    observed: 100_002,
  }),
  code("output over its limit is cut", "console.log('x'.repeat(60000)); console.log('y'.repeat(60000)); 1", exited(0), {
    truncated: ["stdout"],
    resultText: "1",
  }),
  code("a flood of output", "for (;;) console.log('x'.repeat(60000))", { reason: "exceeded", resource: "output" }),
  code("a flood of events", "for (;;) log('x'.repeat(8000))", { reason: "exceeded", resource: "output" }),
  code(
    "declared variables reach the code, and never the process around it",
    "env",
    exited(0),
    {
      resultText: `{"NODE_OPTIONS":"--require=/nothing","A":"b"}`,
    },
    { env: { NODE_OPTIONS: "--require=/nothing", A: "b" } },
  ),
  code(
    "files of the host are not there",
    "[files.list(), (() => { try { return files.read('/etc/passwd') } catch (e) { return e.message } })()]",
    exited(0),
    {
      resultText: `[[],"there is no file \\"/etc/passwd\\" to read"]`,
    },
  ),
  {
    name: "long numbers keep their digits both ways",
    async run(guests) {
      const told = await guests.code("[inputText, BigInt(inputText)]", {}, "12345678901234567890123");
      mustMatch(told.resultText, `["12345678901234567890123",12345678901234567890123]`);
    },
  },
  {
    name: "a packaged script imports its own files and reads what it was given",
    async run(guests) {
      const files = [{ path: "inner/data.txt", hostPath: guests.hostFile("data.txt", "grüße") }];
      const told = await guests.script(
        {
          "index.js":
            "import { up } from './lib/up.js'; export default ({ n }) => [up(files.read('inner/data.txt')), n, context.a, secrets.s]",
          "lib/up.js": "export const up = (text) => text.toUpperCase()",
        },
        { files, requestJson: `{"args":{"n":2},"context":{"a":1},"secrets":{"s":"x"}}\n` },
      );
      mustMatch(told, { end: exited(0), resultText: `["GRÜSSE",2,1,"x"]` });
    },
  },
  {
    name: "requests that are none are the tool's failure",
    async run(guests) {
      for (const requestJson of ["nonsense\n", "[]\n", `{"args":5}\n`, `{"args":{"code":7}}\n`]) {
        const spec = guests.spec({ runtime: "js", entry: "code", package: null });
        mustMatch((await guests.run(spec, { requestJson })).end, exited(1));
      }
    },
  },
  {
    name: "a cancel ends a guest that does not listen",
    async run(guests) {
      const stop = new AbortController();
      const spec = guests.spec({ runtime: "js", entry: "code", package: null }, { limits: { graceMs: 100 } });
      const box = await guests.backend.provision(spec, stop.signal);
      const io = { stdout: () => stop.abort(), stderr: () => undefined, event: () => undefined };
      const requestJson = `{"args":{"code":"console.log(1); new Array(2 ** 32 - 1).join('x')"}}\n`;
      const { end } = await box.run({ requestJson, files: [], resultFrom: "fd3" }, io, stop.signal);
      await box.destroy();
      mustMatch(end, { reason: "cancelled" });
    },
  },
  {
    name: "a runaway guest hurts nobody beside it",
    async run(guests) {
      const runaway = guests.code("const a = []; for (;;) { try { a.push(new Array(1e5).fill(7)) } catch {} }", {
        limits: { timeoutMs: 1_500 },
      });
      const beside: (string | null)[] = [];
      for (let at = 0; at < 3; at++) beside.push((await guests.code("input * 2", {}, String(at))).resultText);
      mustMatch(beside, ["0", "2", "4"]);
      mustMatch((await runaway).end, { reason: "timeout" });
    },
  },
  {
    name: "what cannot be a guest is refused before anything runs",
    async run(guests) {
      const spec = guests.spec({ runtime: "js", entry: "code", package: null });
      const signal = new AbortController().signal;
      const refused = async (wrong: object): Promise<string> =>
        guests.backend.provision({ ...spec, ...wrong }, signal).then(
          () => "made",
          (error: Error) => error.message,
        );
      mustMatch(await refused({ runtime: "exec" }), /the runtime js or wasm/);
      mustMatch(await refused({ entry: "index.js" }), /needs a package/);
      mustMatch(await refused({ egressSocket: "/run/x.sock" }), /no network/);
      mustMatch(await refused({ limits: { ...spec.limits, memoryBytes: 8 * MiB } }), /at least 16777216/);
    },
  },
];
