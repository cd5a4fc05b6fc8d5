// Measures look-ups in a registry of 100 000 versions and more: fills a ledger, resolves names cold and warm, says what each took.
//
//   node bench/registry.ts <data folder>
import { join } from "node:path";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import { sha256 } from "../packages/runtime/src/adapters/system/crypto.ts";
import { Catalog } from "../packages/runtime/src/corridor/catalog.ts";
import type { Write } from "../packages/runtime/src/ledger/port.ts";
import { readManifest } from "../packages/runtime/src/registry/manifest.ts";
import type { ToolVersion } from "../packages/runtime/src/registry/types.ts";
import { percentile } from "./statistics.ts";

/** What the script says in one JSON line; times in ms. */
export interface Lookups {
  readonly lookups: true;
  readonly versions: number;
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Look-ups that came to another version than they should have. */
  readonly wrong: number;
}

const tools = 10_000;
const versionsEach = 10;
/** One tool that has been released every hour for a year. */
const largeVersions = 10_000;
const large = "bench.large";
const rowsPerUnit = 1_000;
const lookups = 20_000;
/** Every so often somebody publishes a version, and what was known of its tool is known no more. */
const lookupsPerChange = 200;
const tenant = "default";

function sample(): Pick<ToolVersion, "metadata" | "spec"> {
  const fields = Array.from({ length: 12 }, (_, index) => [
    `field_${index}`,
    { type: "string", description: `Says ${index}.` },
  ]);
  const read = readManifest({
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name: "bench.sample", version: "1.0.0", owner: "bench", description: "Stands for many." },
    spec: {
      executor: { type: "worker" },
      input: { type: "object", properties: Object.fromEntries(fields), additionalProperties: false },
      side_effect_class: "read_only",
    },
  });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read;
}

function* rows(): Generator<Write> {
  const { metadata, spec } = sample();
  // Some of every tool are past their time: ranges pass over them.
  const insert = (
    tool: string,
    version: string,
    { activate, deprecated }: { readonly activate: boolean; readonly deprecated: boolean },
  ): Write => ({
    op: "insert_tool_version",
    activate,
    row: {
      tenant,
      tool,
      version,
      metadata: { ...metadata, name: tool, version },
      spec,
      manifestDigest: "0".repeat(64), packageDigest: null,
      trust: "first_party",
      status: deprecated ? "deprecated" : "active",
      publishedAt: 1_767_225_600_000,
      publishedBy: "user:bench",
    },
  });
  for (let tool = 0; tool < tools; tool++)
    for (let minor = 0; minor < versionsEach; minor++)
      yield insert(`bench.t${tool}`, `1.${minor}.0`, { activate: minor === 4, deprecated: minor === 9 });
  for (let number = 0; number < largeVersions; number++) {
    const patch = number % 100;
    yield insert(large, `1.${Math.floor(number / 100)}.${patch}`, { activate: number === 0, deprecated: patch === 99 });
  }
}

async function fill(ledger: SqliteLedger): Promise<number> {
  let unit: Write[] = [];
  let written = 0;
  const commit = async (): Promise<void> => {
    await ledger.commit({ writes: unit });
    written += unit.length;
    unit = [];
  };
  for (const row of rows()) if (unit.push(row) >= rowsPerUnit) await commit();
  if (unit.length > 0) await commit();
  return written;
}

interface Wish {
  readonly tool: string;
  readonly requested: string;
  readonly comesTo: string;
}

/** The same order of wishes at every run: no name follows from the one before it, so most look-ups find nothing in memory. */
function wishAt(index: number): Wish {
  const step = (index * 7_919) % tools;
  if (index % 20 === 0) return { tool: large, requested: `~1.${step % 99}`, comesTo: `1.${step % 99}.98` };
  const tool = `bench.t${step}`;
  const kind = index % 4;
  if (kind === 0 || kind === 1) return { tool, requested: "", comesTo: "1.4.0" };
  return kind === 2 ? { tool, requested: "1.7.0", comesTo: "1.7.0" } : { tool, requested: "^1.2.0", comesTo: "1.8.0" };
}

async function measure(ledger: SqliteLedger, versions: number): Promise<Lookups> {
  const catalog = new Catalog(ledger, sha256);
  const times = new Float64Array(lookups);
  let wrong = 0;
  for (let index = 0; index < lookups; index++) {
    if (index % lookupsPerChange === 0) catalog.forget(tenant, large);
    const { tool, requested, comesTo } = wishAt(index);
    const began = performance.now();
    const found = await catalog.resolve(tenant, tool, requested, undefined, "default");
    times[index] = performance.now() - began;
    if (!found.ok || found.version.version !== comesTo) wrong++;
  }
  times.sort();
  const [p50 = 0, p95 = 0, p99 = 0, max = 0] = [0.5, 0.95, 0.99, 1].map((share) => percentile(times, share));
  return { lookups: true, versions, n: lookups, p50, p95, p99, max, wrong };
}

const folder = process.argv[2];
if (folder === undefined) throw new Error("name the data folder");
const ledger = new SqliteLedger({
  path: join(folder, "ledger.db"),
  auditKey: Buffer.alloc(32, 7),
  lane: "bench",
  now: Date.now,
});
try {
  const versions = await fill(ledger);
  process.stdout.write(`${JSON.stringify(await measure(ledger, versions))}\n`);
} finally {
  await ledger.close();
}
