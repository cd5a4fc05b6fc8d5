// Every bound on what a manifest or a schema may say: exactly that much is taken, and one more is refused by its place.
import { describe, expect, test } from "vitest";
import { bounds } from "./bounds.ts";
import { readManifest } from "./manifest.ts";
import { compileSchema } from "./schema.ts";
import { parseDocument } from "./yaml.ts";

type Fields = Record<string, unknown>;

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const named = (count: number, make: (index: number) => unknown): Fields =>
  Object.fromEntries(times(count, (at) => [`k${at}`, make(at)]));
const nested = (levels: number, wrap: (inner: unknown) => unknown, core: unknown): unknown =>
  times(levels, () => 0).reduce<unknown>(wrap, core);

const metadata = { name: "pay", version: "1.0.0", owner: "payments", description: "Charges money" };
const spec = { executor: { type: "worker" }, input: { type: "object" }, side_effect_class: "read_only" };

function manifest(changes: { readonly metadata?: Fields; readonly spec?: Fields }): Fields {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { ...metadata, ...changes.metadata },
    spec: { ...spec, ...changes.spec },
  };
}

function problemsOf(document: unknown): readonly string[] {
  const outcome = readManifest(document);
  return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path} ${message}`);
}

const about = (more: (size: number) => Fields) => (size: number) => manifest({ metadata: more(size) });
const saying = (more: (size: number) => Fields) => (size: number) => manifest({ spec: more(size) });
const text = (size: number): string => "a".repeat(size);
const minutes = (ms: number): string => `${ms}ms`;
/** A path of exactly so many characters whose parts are no longer than common ones. */
const path = (chars: number): string => `/${"abcdefg/".repeat(Math.ceil(chars / 8))}`.slice(0, chars - 1).concat("z");

describe("manifests", () => {
  test.each<[string, number, (size: number) => unknown, string]>([
    ["nameCharsMax", 128, about((size) => ({ name: text(size) })), "metadata.name is longer than 128 characters"],
    ["ownerCharsMax", 128, about((size) => ({ owner: text(size) })), "metadata.owner is longer than 128 characters"],
    [
      "categoryCharsMax",
      128,
      about((size) => ({ category: text(size) })),
      "metadata.category is longer than 128 characters",
    ],
    [
      "descriptionCharsMax",
      4_000,
      about((size) => ({ description: text(size) })),
      "metadata.description is longer than 4000 characters",
    ],
    [
      "versionCharsMax",
      128,
      about((size) => ({ version: `1.0.0-${text(size - 6)}` })),
      "metadata.version is longer than 128 characters",
    ],
    ["labelsMax", 64, about((size) => ({ labels: named(size, () => "v") })), "metadata.labels has more than 64 entries"],
    [
      "labelCharsMax",
      256,
      about((size) => ({ labels: { team: text(size) } })),
      "metadata.labels.team is longer than 256 characters",
    ],
    [
      "textCharsMax",
      1_024,
      saying((size) => ({ permissions: [`fs:read:/${text(size - 9)}`] })),
      "spec.permissions[0] is longer than 1024 characters",
    ],
    [
      "pathCharsMax",
      1_024,
      saying((size) => ({ filesystem: { read: [path(size)] } })),
      "spec.filesystem.read[0] is longer than 1024 characters",
    ],
    [
      "envValueCharsMax",
      8_192,
      saying((size) => ({ env: { MODE: text(size) } })),
      "spec.env.MODE is longer than 8192 characters",
    ],
    [
      "hostCharsMax",
      253,
      saying((size) => ({ network: { allow: [`${"abcdefg.".repeat(31)}${text(size - 248)}`] } })),
      `spec.network.allow[0] "${"abcdefg.".repeat(8).slice(0, 60)}…" is no host`,
    ],
    ["graceMsMax", 60_000, saying((size) => ({ grace: minutes(size) })), "spec.grace must be at most 1 min"],
    ["runTimeoutMsMax", 86_400_000, saying((size) => ({ timeout: minutes(size) })), "spec.timeout must be at most 24 h"],
    [
      "retryAttemptsMax",
      10,
      saying((size) => ({ retry: { attempts: size } })),
      "spec.retry.attempts must be at most 10",
    ],
    [
      "retryDelayMsMax",
      3_600_000,
      saying((size) => ({ retry: { max: minutes(size) } })),
      "spec.retry.max must be at most 1 h",
    ],
    [
      "retryFactorMax",
      10,
      saying((size) => ({ retry: { factor: size } })),
      "spec.retry.factor must be at most 10",
    ],
    [
      "breakerFailuresMax",
      1_000,
      saying((size) => ({ breaker: { failures: size } })),
      "spec.breaker.failures must be at most 1000",
    ],
    [
      "breakerCoolDownMsMax",
      3_600_000,
      saying((size) => ({ breaker: { cool_down: minutes(size) } })),
      "spec.breaker.cool_down must be at most 1 h",
    ],
    [
      "cacheTtlMsMax",
      2_592_000_000,
      saying((size) => ({ pure: true, cache: { ttl: minutes(size) } })),
      "spec.cache.ttl must be at most 30 days",
    ],
    [
      "backendRankMax",
      100,
      saying((size) => ({
        executor: { type: "sandbox", runtime: "python", entry: "main.py", min: size },
      })),
      "spec.executor.min must be at most 100",
    ],
    [
      "listItemsMax",
      256,
      saying((size) => ({ events: times(size, (at) => `e${at}`) })),
      "spec.events has more than 256 entries",
    ],
    [
      "mapEntriesMax",
      256,
      saying((size) => ({ env: named(size, () => "v") })),
      "spec.env has more than 256 entries",
    ],
  ])("%s", (_name, most, make, problem) => {
    expect(problemsOf(make(most))).toEqual([]);
    expect(problemsOf(make(most + 1))).toEqual([problem]);
  });

  test("boxBytesMax and boxRestBytes: what a box is told of its environment goes with every call, so it has a bound of its own", () => {
    const executor = { type: "sandbox", runtime: "python", entry: "main.py" };
    const frame = '{"env":{"K0":"","K1":"","K2":"","K3":"","K4":"","K5":"","K6":"","K7":""},"events":[]}'.length;
    const boxed = (bytes: number): unknown => {
      const rest = bytes - frame;
      const env = Object.fromEntries(times(8, (at) => [`K${at}`, text(at < 7 ? 7_100 : rest - 49_700)]));
      return manifest({ spec: { executor, env } });
    };
    expect(problemsOf(boxed(57_344))).toEqual([]);
    expect(problemsOf(boxed(57_345))).toEqual([
      "spec.env takes 57345 bytes of JSON together with events; at most 57344 go into a box",
    ]);
  });

  test("manifestDepthMax: 48 levels are looked at, one more is not", () => {
    // The document, its `spec`, its `input`, and then the lists; a schema that deep is refused as a schema.
    const deep = (levels: number): unknown =>
      manifest({ spec: { input: { default: nested(levels - 3, (inner) => [inner], 1) } } });
    const refused = (levels: number): string => problemsOf(deep(levels)).join();
    expect(refused(48)).toMatch(/^spec\.input#\S+ is nested more than 32 levels deep$/);
    expect(refused(49)).toMatch(/^spec\.input\.default\S+ is nested more than 48 levels deep$/);
  });

  test("manifestValuesMax: 20 000 values are looked at, one more is not", () => {
    // Beside the numbers there are 15 values: the parts of the manifest, and what holds the numbers.
    const wide = (values: number): unknown =>
      manifest({ spec: { input: { type: "object", default: times(values - 15, () => 1) } } });
    expect(problemsOf(wide(20_000))).not.toContain(" has more than 20000 values");
    expect(problemsOf(wide(20_001))).toEqual([" has more than 20000 values"]);
  });

  test("problemsMax: a hundred problems are told, and no more", () => {
    const wrong = (count: number): unknown => ({ ...manifest({}), ...named(count, () => 1) });
    expect(problemsOf(wrong(100))).toHaveLength(100);
    expect(problemsOf(wrong(101))).toHaveLength(100);
  });

  test("retryInitialMs and retryDelayMs hold where a manifest says nothing of them", () => {
    const outcome = readManifest(manifest({ spec: { retry: { attempts: 2 } } }));
    expect(outcome.ok && outcome.spec.retry).toMatchObject({ initialMs: 2_000, maxMs: 120_000 });
  });

  test("retryFactor holds where a manifest says nothing of it", () => {
    const outcome = readManifest(manifest({ spec: { retry: { attempts: 2 } } }));
    expect(outcome.ok && outcome.spec.retry.factor).toBe(2);
  });

  test("breakerFailures and breakerCoolDownMs hold where a breaker says nothing of them", () => {
    const outcome = readManifest(manifest({ spec: { breaker: {} } }));
    expect(outcome.ok && outcome.spec.breaker).toEqual({ failures: 5, coolDownMs: 30_000 });
  });

  test("breakerCoolDownMsMin: 100 ms is taken, 99 ms are not", () => {
    expect(readManifest(manifest({ spec: { breaker: { cool_down: "100ms" } } })).ok).toBe(true);
    expect(readManifest(manifest({ spec: { breaker: { cool_down: "99ms" } } })).ok).toBe(false);
  });

  test("runTimeoutMs and graceMs hold where a manifest says nothing of them", () => {
    const outcome = readManifest(manifest({}));
    expect(outcome.ok && [outcome.spec.timeoutMs, outcome.spec.graceMs]).toEqual([30_000, 5_000]);
  });

  test("agentTimeoutMs holds where the manifest of an agent's tool says nothing of its time", () => {
    const executor = { type: "agent", agent: "specialist" };
    const timeOf = (spec: object): number | undefined => {
      const outcome = readManifest(manifest({ spec: { executor, ...spec } }));
      return outcome.ok ? outcome.spec.timeoutMs : undefined;
    };
    expect([timeOf({}), timeOf({ timeout: "5s" }), timeOf({ limits: { timeout_ms: 7_000 } })]).toEqual([3_600_000, 5_000, 7_000]);
  });
});

describe("schemas", () => {
  const references = (chain: number): unknown => ({
    $defs: named(chain, (at) => (at === chain - 1 ? {} : { $ref: `#/$defs/k${at + 1}` })),
    $ref: "#/$defs/k0",
  });
  const ofBytes = (bytes: number): unknown => ({ description: text(bytes - '{"description":""}'.length) });

  test.each<[string, number, (size: number) => unknown, string]>([
    ["schemaBytesMax", 65_536, ofBytes, "is 65537 bytes of JSON; at most 65536 are accepted"],
    ["schemaDepthMax", 32, (size) => nested(size - 1, (not) => ({ not }), {}), "is nested more than 32 levels deep"],
    ["schemaNodesMax", 2_000, (size) => ({ properties: named(size - 1, () => ({})) }), "has more than 2000 subschemas"],
    ["schemaEnumItemsMax", 1_000, (size) => ({ enum: times(size, (at) => at) }), "has more than 1000 values"],
    ["schemaBranchesMax", 100, (size) => ({ anyOf: times(size, () => ({})) }), "has more than 100 entries"],
    [
      "schemaBranchesTotalMax",
      500,
      (size) => ({ properties: { ...named(9, () => ({ anyOf: times(50, () => ({})) })), z: { anyOf: times(size - 450, () => ({})) } } }),
      "has more than 500 anyOf, oneOf and allOf entries in all",
    ],
    [
      "schemaPatternsMax",
      100,
      (size) => ({ patternProperties: Object.fromEntries(times(size, (at) => [`^${at}`, {}])) }),
      "has more than 100 patterns",
    ],
    ["schemaRefChainMax", 16, references, "follows more than 16 $refs in a row"],
    ["patternCharsMax", 1_024, (size) => ({ pattern: text(size) }), "is longer than 1024 characters"],
  ])("%s", (_name, most, make, problem) => {
    const told = (schema: unknown): string => {
      const outcome = compileSchema(schema, "input");
      return outcome.ok ? "" : outcome.problems.map(({ message }) => message).join("\n");
    };
    expect(told(make(most))).toBe("");
    expect(told(make(most + 1))).toContain(problem);
  });

  test("schemaValuesMax: 20 000 values are looked at, one more is not", () => {
    // The schema, its keyword's list, and the items; a list that long is refused for its own length first.
    const told = (values: number): string => {
      const outcome = compileSchema({ enum: times(values - 2, () => 1) }, "input");
      return outcome.ok ? "" : outcome.problems.map(({ message }) => message).join();
    };
    expect(told(20_000)).toBe("has more than 1000 values");
    expect(told(20_001)).toBe("has more than 20000 values");
  });

  test("patternProgramMax: 3 000 instructions are compiled, more are not", () => {
    const works = (pattern: string): boolean => compileSchema({ pattern }, "input").ok;
    expect(works("a{1000}b{900}c{900}")).toBe(true);
    expect(works("a{1000}b{1000}c{1000}d{100}")).toBe(false);
  });

  test("schemaErrorsMax: of a value with many faults ten are told", () => {
    const compiled = compileSchema({ type: "object", required: times(40, (at) => `k${at}`) }, "input");
    const verdict = compiled.ok ? compiled.validate({}) : { ok: true as const };
    expect(verdict.ok ? 0 : verdict.errors.length).toBe(10);
  });

  test("formatCharsMax: of a text of 4 096 characters the format is checked, of a longer one it is refused unseen", () => {
    const compiled = compileSchema({ type: "string", format: "uri" }, "input");
    if (!compiled.ok) throw new Error("the schema was refused");
    const uri = (chars: number): string => `https://example.com/${text(chars - 20)}`;
    expect(compiled.validate(uri(4_096)).ok).toBe(true);
    expect(compiled.validate(uri(4_097)).ok).toBe(false);
  });
});

describe("YAML", () => {
  const yamlProblem = (source: string): string => {
    const outcome = parseDocument(source);
    return outcome.ok ? "" : outcome.problems.map(({ message }) => message).join();
  };

  test("yamlAliasesMax: twenty aliases are followed, one more is not", () => {
    const source = (aliases: number): string => `a: &a 1\nb: [${times(aliases, () => "*a").join(", ")}]\n`;
    expect(yamlProblem(source(20))).toBe("");
    expect(yamlProblem(source(21))).toContain("has more than 20 aliases");
  });

  test("manifestBytesMax: 256 KiB are read, one byte more is not", () => {
    const source = (bytes: number): string => `a: ${text(bytes - 4)}\n`;
    expect(yamlProblem(source(262_144))).toBe("");
    expect(yamlProblem(source(262_145))).toContain("262144");
  });

  test("yamlTokensMax: a text of more parts than any manifest has is refused", () => {
    const source = (items: number): string => `[${times(items, () => "1").join()}]`;
    expect(yamlProblem(source(10_000))).toBe("");
    expect(yamlProblem(source(bounds.yamlTokensMax))).not.toBe("");
  });
});
