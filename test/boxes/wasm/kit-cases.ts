// The kit's cases for guests: what is asked of every box, asked of code in an interpreter; and the guests' own, hostile ones included.
import { kitCase, must, type KitCase } from "../kit.ts";
import { livingWith } from "../cases-limits.ts";
import { moduleCases, scriptCases, type GuestCase } from "./cases.ts";
import { Guests, guestLimits, type Asked } from "./guests.ts";
import { mustMatch } from "./must-match.ts";

const never = new AbortController().signal;
const silent = { stdout: () => undefined, stderr: () => undefined, event: () => undefined };
const spin = "console.log('up'); for (;;);";
/** Time for a box to be got ready in the background. */
const readyMs = 1_000;

const withGuests = (group: string, runtime: "js" | "wasm", { name, run }: Pick<GuestCase, "name" | "run">): KitCase =>
  kitCase(group, name, [runtime], async (kit) => {
    const guests = new Guests(kit.backend);
    try {
      await run(guests);
    } finally {
      guests.remove();
    }
  });

const asked = (group: string, name: string, run: (guests: Guests) => Promise<void>): KitCase =>
  withGuests(group, "js", { name, run });

const exited = { reason: "exited", code: 0 };

const contract: readonly KitCase[] = [
  asked("guest contract", "events arrive in order", async (guests) => {
    const told = await guests.code("for (let n = 0; n < 50; n++) emit('n', { n })");
    const wanted = Array.from({ length: 50 }, (_, n) => `{"emit":{"type":"n","payload":{"n":${n}}}}`);
    mustMatch(told, { end: exited, events: wanted });
  }),
  asked("guest contract", "a request of 512 KiB arrives whole", async (guests) => {
    const told = await guests.code("input.length", {}, JSON.stringify("y".repeat(524_288)));
    mustMatch(told, { end: exited, resultText: "524288" });
  }),
  asked("guest contract", "of stderr the last 4 KiB are kept", async (guests) => {
    const { stderrTail } = await guests.code("console.error('a'.repeat(9000)); console.error('end')");
    must(stderrTail.length === 4_096 && stderrTail.endsWith("a\nend\n"), "its end", stderrTail.length);
  }),
  asked("guest contract", "output comes while the guest runs", async (guests) => {
    const stop = new AbortController();
    const told = await guests.code(spin, { signal: stop.signal, onOut: () => stop.abort() });
    mustMatch(told, { out: "up\n", end: { reason: "cancelled" } });
  }),
  asked("guest contract", "a reader that waits holds the guest back", async (guests) => {
    let chunks = 0;
    // 512 KiB are more than any buffer on the way: the guest must still be writing when its reader wakes up.
    const told = await guests.code("for (let n = 0; n < 64; n++) console.log('x'.repeat(8191)); 1", {
      limits: { outputBytes: 1_048_576 },
      onOut: async () => {
        if ((chunks += 1) === 1) await new Promise((resolve) => setTimeout(resolve, 150));
      },
    });
    mustMatch(told, { end: exited, resultText: "1", truncated: [] });
    must(told.out.length === 524_288 && told.usage.durationMs >= 100, "all of it, late", told.usage);
  }),
  asked("guest contract", "a box runs once", async (guests) => {
    const box = await guests.backend.provision(guests.codeSpec(), never);
    const invocation = { requestJson: `{"args":{"code":"1"}}\n`, files: [], resultFrom: "fd3" } as const;
    mustMatch(await box.run(invocation, silent, never), { end: exited, resultText: "1" });
    const second = await box.run(invocation, silent, never);
    await box.destroy();
    mustMatch(second.end, { reason: "lost" });
  }),
  asked("guest contract", "destroy can be called twice, and before a run", async (guests) => {
    const box = await guests.backend.provision(guests.codeSpec(), never);
    await box.destroy();
    await box.destroy();
    const { end } = await box.run(
      { requestJson: `{"args":{"code":"1"}}\n`, files: [], resultFrom: "fd3" },
      silent,
      never,
    );
    must(end.reason !== "exited", "nothing runs in a box that is gone", end);
  }),
  asked("guest contract", "limits that make no sense are refused", async (guests) => {
    for (const limits of [{ memoryBytes: -1 }, { diskBytes: 0.5 }, { cpu: 0 }]) {
      const made = await guests.backend.provision(guests.codeSpec({ limits }), never).then(
        async (box) => (await box.destroy(), true),
        () => false,
      );
      must(!made, `no box with ${JSON.stringify(limits)}`);
    }
  }),
];

const ends: readonly KitCase[] = [
  asked("guest ends", "cpu seconds: a loop is exceeded(cpu)", async (guests) => {
    const told = await guests.code("for (;;);", { limits: { cpuSeconds: 0.6, timeoutMs: 10_000 } });
    mustMatch(told.end, { reason: "exceeded", resource: "cpu", limit: 0.6 });
  }),
  asked("guest ends", "a timeout keeps what was said before it, and comes in time", async (guests) => {
    const told = await guests.code(spin, { limits: { timeoutMs: 400 } });
    mustMatch(told, { end: { reason: "timeout" }, out: "up\n" });
    must(told.usage.durationMs < 3_000, "in time", told.usage);
  }),
  asked("guest ends", "a cancel before the run ends it", async (guests) => {
    const box = await guests.backend.provision(guests.codeSpec(), never);
    const requestJson = `{"args":{"code":${JSON.stringify(spin)}}}\n`;
    const { end } = await box.run({ requestJson, files: [], resultFrom: "fd3" }, silent, AbortSignal.abort());
    await box.destroy();
    mustMatch(end, { reason: "cancelled" });
  }),
  asked("guest ends", "a cancel gives grace, and kills when it is over", async (guests) => {
    const stop = new AbortController();
    let cancelledAt = Number.NaN;
    const told = await guests.code(spin, {
      signal: stop.signal,
      limits: { graceMs: 300 },
      onOut() {
        cancelledAt = performance.now();
        stop.abort();
      },
    });
    mustMatch(told.end, { reason: "cancelled" });
    must(performance.now() - cancelledAt < 3_000, "soon after its grace", performance.now() - cancelledAt);
  }),
  asked("guest ends", "when its end is told no process of it is left", async (guests) => {
    const stop = new AbortController();
    const spec = guests.codeSpec({ limits: { timeoutMs: 5_000 } });
    let during: readonly string[] = [];
    const requestJson = `{"args":{"code":${JSON.stringify(spin)}}}\n`;
    const told = await guests.run(spec, {
      requestJson,
      signal: stop.signal,
      async onOut() {
        during = await livingWith("--disallow-code-generation-from-strings");
        stop.abort();
      },
    });
    mustMatch(told.end, { reason: "cancelled" });
    must(during.length > 0, "it was there while it ran", during);
    const after = new Set(await livingWith("--disallow-code-generation-from-strings"));
    // Those that wait ready-made for other cases may live on; one that ran may not.
    must(
      during.some((each) => !after.has(each)),
      "and is gone",
      [...after],
    );
  }),
];

const company: readonly KitCase[] = [
  asked("guest company", "twenty at once, each with its own request and result", async (guests) => {
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        guests.code(
          "globalThis.mine ??= input; [mine, env.N]",
          { tenant: `t${n % 3}`, env: { N: `n${n}` } },
          String(n),
        ),
      ),
    );
    all.forEach((told, n) => mustMatch(told, { end: exited, resultText: `[${n},"n${n}"]` }));
  }),
  asked("guest company", "what one run leaves behind, the next does not find, of whatever tenant", async (guests) => {
    const code = "const had = [typeof left, typeof {}.left]; globalThis.left = 1; Object.prototype.left = 2; had";
    for (const tenant of ["a", "a", "b"]) {
      mustMatch(await guests.code(code, { tenant }), { end: exited, resultText: `["undefined","undefined"]` });
    }
  }),
];

const warm: readonly KitCase[] = [
  asked("guest warm", "a class that is kept warm gives warm guests, each used once", async (guests) => {
    const spec = guests.codeSpec();
    guests.backend.warm?.(spec, 2);
    let warmRuns = 0;
    try {
      for (let tries = 0; tries < 60 && warmRuns < 3; tries += 1) {
        const told = await guests.code("const had = typeof left; globalThis.left = 1; had");
        mustMatch(told, { end: exited, resultText: `"undefined"` });
        if (told.warm) warmRuns += 1;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      guests.backend.warm?.(spec, 0);
    }
    must(warmRuns >= 3, "warm guests came", warmRuns);
  }),
  asked("guest warm", "a warm guest of one tenant is not given to another", async (guests) => {
    const env = { FOR: "nobody else" };
    const spec = guests.codeSpec({ tenant: "a", env });
    guests.backend.warm?.(spec, 1);
    await new Promise((resolve) => setTimeout(resolve, readyMs));
    const told = await guests.code("env.FOR", { tenant: "b", env });
    guests.backend.warm?.(spec, 0);
    mustMatch(told, { end: exited, resultText: `"nobody else"`, warm: false });
  }),
  asked("guest warm", "a warm guest has the limits, variables and ends of a cold one", async (guests) => {
    const ask: Asked = { env: { V: "w" }, limits: { timeoutMs: 400, memoryBytes: guestLimits.memoryBytes } };
    const spec = guests.codeSpec(ask);
    guests.backend.warm?.(spec, 1);
    try {
      for (let tries = 0; tries < 20; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, readyMs / 2));
        const told = await guests.code("console.log(env.V); for (;;);", ask);
        mustMatch(told, { end: { reason: "timeout" }, out: "w\n" });
        if (told.warm) return;
      }
    } finally {
      guests.backend.warm?.(spec, 0);
    }
    must(false, "a warm guest came");
  }),
];

/** The common promises, and the guests' own cases. */
export const guestCases: readonly KitCase[] = [
  ...contract,
  ...ends,
  ...company,
  ...warm,
  ...moduleCases.map((each) => withGuests("guest modules", "wasm", each)),
  ...scriptCases.map((each) => withGuests("guest scripts", "js", each)),
];
