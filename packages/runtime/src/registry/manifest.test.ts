// Manifests: what is read, every way to be wrong with its path, and that nothing at all makes the reader throw.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readManifest } from "./manifest.ts";
import { compileToolSchemas } from "./schema.ts";
import { parseDocument } from "./yaml.ts";

type Fields = Record<string, unknown>;

const metadata = { name: "payments.charge", version: "1.0.0", owner: "payments", description: "Charges money" };
const spec = { executor: { type: "worker" }, input: { type: "object" }, side_effect_class: "non_idempotent_write" };

/** A small correct manifest with parts replaced; undefined takes a key out. */
function manifest(changes: { metadata?: Fields; spec?: Fields; top?: Fields } = {}): Fields {
  const kept = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return kept({
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: kept({ ...metadata, ...changes.metadata }),
    spec: kept({ ...spec, ...changes.spec }),
    ...changes.top,
  });
}

function problemsOf(document: unknown): readonly string[] {
  const outcome = readManifest(document);
  return outcome.ok
    ? []
    : outcome.problems.map(({ path, message, hint }) => `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`);
}

function specOf(changes: Fields) {
  const outcome = readManifest(manifest({ spec: changes }));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  return outcome.spec;
}

const warningsOf = (changes: Fields): readonly string[] => {
  const outcome = readManifest(manifest({ spec: changes }));
  return outcome.ok ? outcome.warnings.map(({ path, message }) => `${path}: ${message}`) : ["refused"];
};

test("the smallest manifest, with every default", () => {
  expect(readManifest(manifest())).toEqual({
    ok: true,
    metadata: { ...metadata, category: "", labels: {} },
    spec: {
      executor: { type: "worker" },
      input: { type: "object" },
      output: undefined,
      sideEffectClass: "non_idempotent_write",
      scheduling: "parallel",
      permissions: [],
      timeoutMs: 30_000,
      graceMs: 5_000,
      retry: { attempts: 1, strategy: "exponential", initialMs: 2_000, maxMs: 120_000, factor: 2, timeouts: false },
      breaker: null,
      pure: false,
      cacheTtlMs: 0,
      onIndeterminate: "ask",
      limits: {},
      secrets: {},
      networkAllow: [],
      filesystem: { read: [], write: [] },
      env: {},
      events: [],
      context: [],
      defaultPolicies: [],
      placement: { match: {}, prefer: {} },
      integrity: { identities: [], imageDigests: [] },
    },
    warnings: [],
  });
});

test("a manifest with everything in it", () => {
  const digest = `sha256:${"0a".repeat(32)}`;
  const outcome = readManifest(
    manifest({
      metadata: { category: "payments", labels: { team: "a", "signalbox.dev/tier": "" } },
      spec: {
        executor: {
          type: "sandbox",
          runtime: "node",
          entry: "src/main.js",
          image: `registry.test/tool@${digest}`,
          min: 40,
        },
        output: { type: "object" },
        side_effect_class: "read_only",
        scheduling: "serial(args.account)",
        permissions: ["net:egress:api.example.com", "fs:read:/workspace", "own:thing:a/b:c"],
        timeout: "90s",
        grace: "0ms",
        retry: { attempts: 3, strategy: "fixed", initial: "500ms", max: "10s", timeouts: true },
        breaker: { failures: 7, cool_down: "1m" },
        pure: true,
        cache: { ttl: "5m" },
        on_indeterminate: "fail",
        limits: {
          cpu: 2,
          cpu_seconds: 60,
          memory_bytes: "64Mi",
          disk_bytes: 1024,
          pids: 8,
          fds: 32,
          timeout_ms: 90_000,
          output_bytes: "1Mi",
          egress_bytes: "2Gi",
          concurrent_calls: 3,
        },
        secrets: { API_KEY: "secret://acme/llm/openai-key" },
        network: { allow: ["API.example.com", "*.example.org:8443"] },
        filesystem: { read: ["/workspace/in"], write: ["/workspace/out"] },
        env: { MODE: "fast", _EMPTY: "" },
        events: ["invoice.created"],
        context: [],
        default_policies: ["need-a-person", "limits@1.2.0"],
        placement: { match: { region: "eu" }, prefer: { zone: "a" } },
        integrity: { identities: ["spiffe://acme/worker"], image_digests: [digest] },
      },
    }),
  );
  expect(outcome).toMatchObject({
    ok: true,
    metadata: { category: "payments", labels: { team: "a", "signalbox.dev/tier": "" } },
    spec: {
      executor: {
        type: "sandbox",
        runtime: "node",
        entry: "src/main.js",
        image: `registry.test/tool@${digest}`,
        min: 40,
      },
      sideEffectClass: "read_only",
      scheduling: "serial(args.account)",
      permissions: ["net:egress:api.example.com", "fs:read:/workspace", "own:thing:a/b:c"],
      timeoutMs: 90_000,
      graceMs: 0,
      retry: { attempts: 3, strategy: "fixed", initialMs: 500, maxMs: 10_000, factor: 2, timeouts: true },
      breaker: { failures: 7, coolDownMs: 60_000 },
      pure: true,
      cacheTtlMs: 300_000,
      onIndeterminate: "fail",
      limits: {
        cpu: 2,
        cpu_seconds: 60,
        memory_bytes: 67_108_864,
        disk_bytes: 1024,
        pids: 8,
        fds: 32,
        timeout_ms: 90_000,
        output_bytes: 1_048_576,
        egress_bytes: 2_147_483_648,
        concurrent_calls: 3,
      },
      secrets: { API_KEY: "secret://acme/llm/openai-key" },
      networkAllow: ["api.example.com", "*.example.org:8443"],
      filesystem: { read: ["/workspace/in"], write: ["/workspace/out"] },
      env: { MODE: "fast", _EMPTY: "" },
      events: ["invoice.created"],
      context: [],
      defaultPolicies: ["need-a-person", "limits@1.2.0"],
      placement: { match: { region: "eu" }, prefer: { zone: "a" } },
      integrity: { identities: ["spiffe://acme/worker"], imageDigests: [digest] },
    },
    warnings: [],
  });
});

describe("what cannot be read at all", () => {
  test.each([
    [undefined, ": nothing is not JSON"],
    [null, ": must be a mapping, not null"],
    ["apiVersion", ': must be a mapping, not "apiVersion"'],
    [[], ": must be a mapping, not a list"],
    [{ a: Number.NaN }, "a: NaN is not a JSON number"],
    [
      manifest({ metadata: { description: "\udc00" } }),
      "metadata.description: holds half of a surrogate pair: not well-formed text",
    ],
  ])("%#", (document, problem) => {
    expect(problemsOf(document)).toEqual([problem]);
  });

  test("a document without its parts names them all", () => {
    expect(problemsOf({})).toEqual([
      "apiVersion: is required (apiVersion: signalbox.dev/v1)",
      "kind: is required (kind: Tool)",
      "metadata: is required",
      "spec: is required",
    ]);
  });

  test("very deep documents are refused, not walked", () => {
    let deep: unknown = {};
    for (let level = 0; level < 100_000; level++) deep = { deep };
    expect(problemsOf(manifest({ spec: { input: deep } }))).toEqual([
      expect.stringMatching(/^spec\.input\.deep.*: is nested more than 48 levels deep$/),
    ]);
  });
});

test.each(["payments.charge", "a", "a1", "0", "a.b-c_d", "a".repeat(128)])("the name %s is fine", (name) => {
  expect(problemsOf(manifest({ metadata: { name } }))).toEqual([]);
});

test.each(["", "A", ".a", "a.", "-a", "a-", "a b", "a/b", "a:b", "ä", "a".repeat(129), "a\n"])(
  "the name %j is not",
  (name) => {
    expect(problemsOf(manifest({ metadata: { name } }))).toEqual([expect.stringMatching(/^metadata\.name: /)]);
  },
);

test("keys that objects have by themselves are unknown keys, or absent ones", () => {
  expect(
    problemsOf(manifest({ spec: JSON.parse('{"__proto__": {"timeout": "1s"}, "constructor": 1}') as Fields })),
  ).toEqual([
    expect.stringMatching(/^spec\.__proto__: is an unknown key/),
    expect.stringMatching(/^spec\.constructor: is an unknown key/),
  ]);
  expect(specOf({ env: JSON.parse('{"__proto__": "x"}') as Fields }).env).toEqual(JSON.parse('{"__proto__": "x"}'));
});

test("executors that do not run yet are valid all the same", () => {
  expect(specOf({ executor: { type: "mcp", server: "github", tool: "createIssue" } }).executor).toEqual({
    type: "mcp",
    server: "github",
    tool: "createIssue",
  });
  expect(specOf({ executor: { type: "agent", agent: "triage@^1.0.0" } }).executor).toEqual({
    type: "agent",
    agent: "triage@^1.0.0",
  });
  expect(specOf({ executor: { type: "sandbox", runtime: "wasm", entry: "tool.wasm" } }).executor).toEqual({
    type: "sandbox",
    runtime: "wasm",
    entry: "tool.wasm",
  });
});

test("limits.timeout_ms alone is the timeout", () => {
  expect(specOf({ limits: { timeout_ms: 1_500 } }).timeoutMs).toBe(1_500);
});

test("a short longest delay pulls the first one down", () => {
  expect(specOf({ side_effect_class: "read_only", retry: { attempts: 2, max: "1s" } }).retry).toEqual({
    attempts: 2,
    strategy: "exponential",
    initialMs: 1_000,
    maxMs: 1_000,
    factor: 2,
    timeouts: false,
  });
});

test("a breaker that is named has five failures and half a minute, where it says no other", () => {
  expect(specOf({ breaker: {} }).breaker).toEqual({ failures: 5, coolDownMs: 30_000 });
  expect(specOf({ breaker: { cool_down: "2m" } }).breaker).toEqual({ failures: 5, coolDownMs: 120_000 });
});

describe("warnings", () => {
  test.each<[string, Fields, readonly string[]]>([
    [
      "an unset class",
      { side_effect_class: undefined },
      ["spec.side_effect_class: is not set and counts as non_idempotent_write: a lost call waits for a person"],
    ],
    [
      "a pure tool without class",
      { side_effect_class: undefined, pure: true },
      ["spec.side_effect_class: is not set, so this pure tool counts as non_idempotent_write"],
    ],
    [
      "retries of an unsafe tool",
      { retry: { attempts: 3 } },
      ["spec.retry.attempts: has no effect: non_idempotent_write is never repeated by the runtime"],
    ],
    [
      "input that is no object",
      { input: { type: "string" } },
      ["spec.input: does not describe an object; models and MCP clients can only send objects"],
    ],
    [
      "fences around a worker",
      { network: { allow: ["a.test"] }, limits: { memory_bytes: 1, timeout_ms: 5 } },
      [
        "spec.network: has no effect: executor worker runs in the application's own process",
        "spec.limits.memory_bytes: has no effect: executor worker runs in the application's own process",
      ],
    ],
    [
      "an unknown dialect",
      { input: { $schema: "https://example.com/s" } },
      ['spec.input#/$schema: "https://example.com/s" is not built in; the schema is read as 2020-12'],
    ],
    [
      "an unknown format",
      { input: { type: "object", properties: { a: { format: "e-mail" } } } },
      ['spec.input#/properties/a/format: the format "e-mail" is unknown here and is not checked'],
    ],
  ])("%s", (_, changes, warnings) => {
    expect(warningsOf(changes)).toEqual(warnings);
  });
});

describe("schemas in files", () => {
  const document = manifest({ spec: { input: { file: "schemas/in.json" } } });

  test("take their place", () => {
    const asked: string[] = [];
    const outcome = readManifest(document, (path) => {
      asked.push(path);
      return { type: "object", required: ["a"] };
    });
    expect(asked).toEqual(["schemas/in.json"]);
    expect(outcome).toMatchObject({ ok: true, spec: { input: { type: "object", required: ["a"] } } });
  });

  test.each([
    ["../in.json", "leads outside: .. is not accepted"],
    ["a/../../in.json", "leads outside: .. is not accepted"],
    ["/etc/passwd", "must be a relative path"],
    ["./in.json", "is not in its shortest form"],
    ["a\\..\\in.json", "holds a backslash or a colon"],
    ["C:in.json", "holds a backslash or a colon"],
    ["", "must not be empty"],
  ])("the path %j is never opened", (file, message) => {
    const outcome = readManifest(manifest({ spec: { input: { file } } }), () => {
      throw new Error("was opened");
    });
    expect(outcome).toMatchObject({ ok: false, problems: [{ path: "spec.input.file", message }] });
  });

  test("that are missing, unreadable or no schemas are problems", () => {
    const problems = (files: (path: string) => unknown): unknown => {
      const outcome = readManifest(document, files);
      return outcome.ok ? [] : outcome.problems.map(({ path, message }) => `${path}: ${message}`);
    };
    expect(problems(() => undefined)).toEqual(["spec.input.file: there is no file schemas/in.json"]);
    expect(
      problems(() => {
        throw new Error("line 3: bad");
      }),
    ).toEqual(["spec.input.file: schemas/in.json cannot be read: line 3: bad"]);
    expect(problems(() => [1])).toEqual(["spec.input: must be a JSON Schema object, not a list"]);
  });
});

test.each(["payments.charge", "files.summarize", "reports.build", "slow"])(
  "the sample tool %s is valid and compiles without warnings",
  (name) => {
    const path = fileURLToPath(new URL(`../../../../examples/tools/${name}/tool.yaml`, import.meta.url));
    const parsed = parseDocument(readFileSync(path, "utf8"));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const outcome = readManifest(parsed.value);
    expect(outcome).toMatchObject({ ok: true, metadata: { name, version: "1.0.0" }, warnings: [] });
    if (outcome.ok) expect(compileToolSchemas(outcome.spec).ok).toBe(true);
  },
);

describe("nothing makes the reader throw", () => {
  test("arbitrary JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (document) => void readManifest(document)),
      { numRuns: 1_000 },
    );
  });

  test("arbitrary values of the language", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(anything, (document) => void readManifest(document)),
      { numRuns: 1_000 },
    );
  });

  test("a good manifest with one place replaced by anything", () => {
    const keys = [
      "executor",
      "input",
      "output",
      "side_effect_class",
      "scheduling",
      "permissions",
      "timeout",
      "grace",
      "retry",
      "breaker",
      "pure",
      "cache",
      "on_indeterminate",
      "limits",
      "secrets",
      "network",
      "filesystem",
      "env",
      "events",
      "context",
      "default_policies",
      "placement",
      "integrity",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...keys), fc.anything({ maxDepth: 3 }), (key, value) => {
        const outcome = readManifest({ ...manifest(), spec: { ...spec, [key]: value } });
        if (outcome.ok) return;
        expect(outcome.problems.length).toBeGreaterThan(0);
        expect(outcome.problems.every(({ path }) => path.startsWith("spec"))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});
