// The kit as a command: a table for people, or one JSON line for each backend.
import { parseArgs } from "node:util";
import { allCases } from "./all-cases.ts";
import { runKit, type Subject, type Verdict } from "./kit.ts";

const usage = `npm run kit:boxes -- [--json] [--backend <name>] [--only <words>] [--best-effort]
  --json         one line for each backend: {"backend","passed","failed","unavailable"}
  --backend      only this one
  --only         only cases whose group and name hold the words
  --best-effort  acknowledge limits that are watched and not held by the kernel
`;

const count = (items: readonly Verdict[], outcome: Verdict["outcome"]): number =>
  items.filter((item) => item.outcome === outcome).length;

/** @returns the exit code: 1 when a case failed */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      backend: { type: "string" },
      only: { type: "string", default: "" },
      "best-effort": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const make: Readonly<Record<string, () => Promise<Subject>>> = {
    // Each with its own imports: where one cannot be loaded, the others still are.
    native: async () => (await import("./subject-native.ts")).nativeSubject({ bestEffort: values["best-effort"] }),
  };
  let failures = 0;
  for (const [backend, subjectOf] of Object.entries(make)) {
    if (values.backend !== undefined && values.backend !== backend) continue;
    const subject = await subjectOf();
    const cases = allCases.filter(({ group, name }) => `${group} ${name}`.includes(values.only));
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
      await subject.backend.close();
    }
  }
  return failures === 0 ? 0 : 1;
}

function row(item: Verdict): string {
  const time = item.outcome === "unavailable" ? "" : `${item.ms.toFixed(0)} ms`;
  const line = `${item.outcome.padEnd(11)} ${time.padStart(8)}  ${item.case.group}: ${item.case.name}\n`;
  return item.outcome === "passed" ? line : `${line}              ${item.message}\n`;
}

function table(items: readonly Verdict[], backend: string, line: object, probe: object): string {
  return `${backend}: ${JSON.stringify(probe)}\n${items.map(row).join("")}${JSON.stringify(line)}\n`;
}
