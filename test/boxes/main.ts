// The kit as a command: a table for people, or one JSON line for each backend.
import { parseArgs } from "node:util";
import { allCases } from "./all-cases.ts";
import { runKit, type KitCase, type Subject, type Verdict } from "./kit.ts";

const usage = `npm run kit:boxes -- [--json] [--backend <name>] [--only <words>] [--best-effort]
  --json         one line for each backend: {"backend","passed","failed","unavailable"}
  --backend      only this one
  --only         only cases whose group and name hold the words
  --best-effort  acknowledge limits that are watched and not held by the kernel
`;

const count = (items: readonly Verdict[], outcome: Verdict["outcome"]): number =>
  items.filter((item) => item.outcome === outcome).length;

const options = {
  json: { type: "boolean", default: false },
  backend: { type: "string" },
  only: { type: "string", default: "" },
  "best-effort": { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Says what is wrong with them, and gives nothing then. */
function flagsOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** @returns the exit code: 1 when a case failed, 2 when nothing could be run as asked */
export async function main(args: readonly string[]): Promise<number> {
  const values = flagsOf(args);
  if (values === undefined) return 2;
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const bestEffort = values["best-effort"];
  // Each with its own imports: where one cannot be loaded, the others still are.
  const make: Readonly<Record<string, () => Promise<Asked>>> = {
    async native() {
      const { nativeSubject } = await import("./subject-native.ts");
      const subject = await nativeSubject({ bestEffort });
      return { subject, cases: allCases, close: () => subject.backend.close() };
    },
    async wasm() {
      const [{ boxedSubject, guestCapabilities }, { guestCases }] = await Promise.all([
        import("./wasm/subject.ts"),
        import("./wasm/kit-cases.ts"),
      ]);
      const { backend, close } = boxedSubject({ bestEffort });
      // Those of programs too: what a guest has no part in is counted, and not left out.
      return { subject: { backend, ...guestCapabilities }, cases: [...guestCases, ...allCases], close };
    },
  };
  if (values.backend !== undefined && !(values.backend in make)) {
    process.stderr.write(`there is no backend "${values.backend}"; there are: ${Object.keys(make).join(" ")}\n`);
    return 2;
  }
  let failures = 0;
  let ran = 0;
  for (const [backend, ask] of Object.entries(make)) {
    if (values.backend !== undefined && values.backend !== backend) continue;
    const { subject, cases: all, close } = await ask();
    const cases = all.filter(({ group, name }) => `${group} ${name}`.includes(values.only));
    ran += cases.length;
    try {
      const { probe, items } = await runKit(subject, cases);
      failures += count(items, "failed");
      const line = {
        backend,
        passed: count(items, "passed"),
        failed: count(items, "failed"),
        unavailable: count(items, "unavailable"),
      };
      process.stdout.write(values.json ? `${JSON.stringify(line)}\n` : table(items, backend, line, probe));
      if (values.json) for (const item of items) if (item.outcome === "failed") process.stderr.write(row(item));
    } finally {
      await close();
    }
  }
  // A check of nothing must not look like a check that held.
  if (ran === 0) process.stderr.write(`no case holds the words "${values.only}"\n`);
  if (ran === 0) return 2;
  return failures === 0 ? 0 : 1;
}

interface Asked {
  readonly subject: Subject;
  readonly cases: readonly KitCase[];
  close(): Promise<void>;
}

type Judged = Exclude<Verdict, { readonly outcome: "unavailable" }>;

function row(item: Judged): string {
  const time = `${item.ms.toFixed(0)} ms`;
  const line = `${item.outcome.padEnd(11)} ${time.padStart(8)}  ${item.case.group}: ${item.case.name}\n`;
  return item.outcome === "passed" ? line : `${line}              ${item.message}\n`;
}

/** One line for each reason: hundreds of cases may have the same. */
function unavailable(items: readonly Verdict[]): string {
  const reasons = new Map<string, number>();
  for (const item of items) {
    if (item.outcome === "unavailable") reasons.set(item.message, (reasons.get(item.message) ?? 0) + 1);
  }
  return [...reasons].map(([message, count]) => `unavailable ${String(count).padStart(8)}  ${message}\n`).join("");
}

function table(items: readonly Verdict[], backend: string, line: object, probe: object): string {
  const rows = items.flatMap((item) => (item.outcome === "unavailable" ? [] : [row(item)])).join("");
  return `${backend}: ${JSON.stringify(probe)}\n${rows}${unavailable(items)}${JSON.stringify(line)}\n`;
}
