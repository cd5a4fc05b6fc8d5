// Every way for one field of a manifest to be wrong: the problem with its path and the next step.
import { describe, expect, test } from "vitest";
import { readManifest } from "../manifest.ts";

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

describe("every wrong field is named", () => {
  test.each<[string, Parameters<typeof manifest>[0], string]>([
    [
      "the api version",
      { top: { apiVersion: "v1" } },
      'apiVersion: must be signalbox.dev/v1, not "v1" (apiVersion: signalbox.dev/v1)',
    ],
    ["the kind", { top: { kind: "Agent" } }, 'kind: must be Tool, not "Agent" (kind: Tool)'],
    ["a key on top", { top: { sepc: {} } }, 'sepc: is an unknown key (did you mean "spec"?)'],
    [
      "no owner",
      { metadata: { owner: undefined } },
      "metadata.owner: is required (the team or person who answers for this tool)",
    ],
    [
      "an empty owner",
      { metadata: { owner: " " } },
      "metadata.owner: must not be empty (the team or person who answers for this tool)",
    ],
    [
      "no name",
      { metadata: { name: undefined } },
      "metadata.name: is required (lower-case letters and digits, with . _ - inside, like payments.charge)",
    ],
    [
      "no description",
      { metadata: { description: undefined } },
      "metadata.description: is required (say what the tool does; models read it)",
    ],
    [
      "no version",
      { metadata: { version: undefined } },
      "metadata.version: is required (one exact version, like 1.0.0)",
    ],
    [
      "not a version",
      { metadata: { version: "not-a-version" } },
      'metadata.version: "not-a-version" is no version (one exact version, like 1.0.0)',
    ],
    [
      "a range",
      { metadata: { version: "^1.0.0" } },
      'metadata.version: "^1.0.0" is no version (one exact version, like 1.0.0)',
    ],
    [
      "a number for a version",
      { metadata: { version: 1.1 } },
      'metadata.version: must be text, not 1.1 (put it in quotes: "1.1")',
    ],
    [
      "trust",
      { top: { trust: "first_party" } },
      "trust: is an unknown key (trust is decided by the registry from where the tool comes from, never by its manifest)",
    ],
    [
      "trust in metadata",
      { metadata: { trust: "x" } },
      "metadata.trust: is an unknown key (trust is decided by the registry from where the tool comes from, never by its manifest)",
    ],
    [
      "trust in spec",
      { spec: { trust: "x" } },
      "spec.trust: is an unknown key (trust is decided by the registry from where the tool comes from, never by its manifest)",
    ],
    ["a misspelt key", { spec: { timout: "1s" } }, 'spec.timout: is an unknown key (did you mean "timeout"?)'],
    [
      "a camel-case key",
      { spec: { sideEffectClass: "read_only" } },
      'spec.sideEffectClass: is an unknown key (did you mean "side_effect_class"?)',
    ],
    [
      "a label's text",
      { metadata: { labels: { a: 1 } } },
      'metadata.labels.a: must be text, not 1 (put it in quotes: "1")',
    ],
    [
      "a label's name",
      { metadata: { labels: { "-a": "b" } } },
      'metadata.labels["-a"]: "-a" is not valid here (letters and digits, with . _ / - inside)',
    ],
    ["control characters", { metadata: { description: "a\u0007" } }, "metadata.description: holds control characters"],
    ["no executor", { spec: { executor: undefined } }, "spec.executor: is required"],
    ["no input", { spec: { input: undefined } }, "spec.input: is required"],
    ["an executor in a word", { spec: { executor: "worker" } }, 'spec.executor: must be a mapping, not "worker"'],
    [
      "an executor without type",
      { spec: { executor: {} } },
      "spec.executor.type: is required (one of worker, sandbox, mcp, agent)",
    ],
    [
      "a misspelt executor",
      { spec: { executor: { type: "wroker" } } },
      'spec.executor.type: must be one of worker, sandbox, mcp, agent, not "wroker" (did you mean "worker"?)',
    ],
    [
      "a worker's entry",
      { spec: { executor: { type: "worker", entry: "a" } } },
      "spec.executor.entry: is an unknown key (known keys: type)",
    ],
    ["no entry", { spec: { executor: { type: "sandbox", runtime: "js" } } }, "spec.executor.entry: is required"],
    ["no runtime", { spec: { executor: { type: "sandbox", entry: "a" } } }, "spec.executor.runtime: is required"],
    [
      "a runtime",
      { spec: { executor: { type: "sandbox", runtime: "ruby", entry: "a" } } },
      'spec.executor.runtime: must be one of js, node, python, wasm, exec, not "ruby"',
    ],
    [
      "an entry outside",
      { spec: { executor: { type: "sandbox", runtime: "js", entry: "../a.js" } } },
      "spec.executor.entry: leads outside: .. is not accepted (a file inside the tool's folder, like schema.json)",
    ],
    [
      "an absolute entry",
      { spec: { executor: { type: "sandbox", runtime: "js", entry: "/a.js" } } },
      "spec.executor.entry: must be a relative path (a file inside the tool's folder, like schema.json)",
    ],
    [
      "an image by tag",
      { spec: { executor: { type: "sandbox", runtime: "exec", entry: "/a", image: "a:latest" } } },
      'spec.executor.image: "a:latest" is not valid here (pin the image by its digest: name@sha256:…)',
    ],
    [
      "a rank",
      { spec: { executor: { type: "sandbox", runtime: "js", entry: "a", min: "gvisor" } } },
      'spec.executor.min: must be a whole number, not "gvisor" (0 to 100)',
    ],
    [
      "an mcp server",
      { spec: { executor: { type: "mcp", tool: "x" } } },
      "spec.executor.server: is required (lower-case letters and digits, with . _ - inside, like payments.charge)",
    ],
    [
      "an agent",
      { spec: { executor: { type: "agent", agent: "a@latest" } } },
      'spec.executor.agent: "latest" is no version (like 1.2.0 or ^1.2.0)',
    ],
    [
      "the side-effect class",
      { spec: { side_effect_class: "destructive" } },
      'spec.side_effect_class: must be one of read_only, idempotent_write, non_idempotent_write, irreversible_action, not "destructive"',
    ],
    [
      "scheduling",
      { spec: { scheduling: "serial" } },
      'spec.scheduling: "serial" is not valid here (parallel, exclusive, or serial(key) with the key in arguments, like serial(args.account))',
    ],
    [
      "a permission",
      { spec: { permissions: ["net:egress"] } },
      'spec.permissions[0]: "net:egress" is not valid here (domain:action:resource, like net:egress:api.example.com)',
    ],
    ["permissions in a word", { spec: { permissions: "*" } }, 'spec.permissions: must be a list, not "*"'],
    [
      "a permission twice",
      { spec: { permissions: ["a:b:c", "a:b:c"] } },
      'spec.permissions[1]: "a:b:c" stands there twice',
    ],
    [
      "a timeout without unit",
      { spec: { timeout: 30 } },
      "spec.timeout: is a duration without a unit (write a whole number and one of ms, s, m, h, like 500ms or 30s)",
    ],
    ["a timeout of nothing", { spec: { timeout: "0s" } }, "spec.timeout: must be at least 1 ms"],
    ["a timeout of days", { spec: { timeout: "25h" } }, "spec.timeout: must be at most 24 h"],
    [
      "two timeouts",
      { spec: { timeout: "10s", limits: { timeout_ms: 20_000 } } },
      "spec.timeout: is 10 s, and limits.timeout_ms says 20000 ms (write one of the two)",
    ],
    ["a long grace", { spec: { grace: "2m" } }, "spec.grace: must be at most 1 min"],
    ["attempts", { spec: { retry: { attempts: 0 } } }, "spec.retry.attempts: must be at least 1"],
    [
      "a strategy",
      { spec: { retry: { strategy: "expo" } } },
      'spec.retry.strategy: must be one of fixed, linear, exponential, not "expo"',
    ],
    [
      "delays the wrong way round",
      { spec: { retry: { initial: "10s", max: "1s" } } },
      "spec.retry.max: is shorter than initial",
    ],
    [
      "a factor where nothing grows by it",
      { spec: { retry: { strategy: "fixed", factor: 2 } } },
      "spec.retry.factor: has no meaning with strategy fixed (only an exponential wait grows by a factor)",
    ],
    ["timeouts in a word", { spec: { retry: { timeouts: "yes" } } }, 'spec.retry.timeouts: must be true or false, not "yes"'],
    ["a breaker that opens by itself", { spec: { breaker: { failures: 0 } } }, "spec.breaker.failures: must be at least 1"],
    ["a breaker that hardly rests", { spec: { breaker: { cool_down: "99ms" } } }, "spec.breaker.cool_down: must be at least 100 ms"],
    ["pure in a word", { spec: { pure: "yes" } }, 'spec.pure: must be true or false, not "yes"'],
    [
      "a cache of an impure tool",
      { spec: { cache: { ttl: "1m" } } },
      "spec.cache.ttl: needs pure: true (only tools whose output depends on nothing but their input can be cached)",
    ],
    ["a cache without ttl", { spec: { cache: {} } }, "spec.cache.ttl: is required"],
    [
      "a pure write",
      { spec: { pure: true } },
      "spec.pure: contradicts side_effect_class: non_idempotent_write (a pure tool changes nothing: side_effect_class: read_only)",
    ],
    [
      "on_indeterminate",
      { spec: { on_indeterminate: "retry" } },
      'spec.on_indeterminate: must be one of ask, fail, not "retry"',
    ],
    [
      "a limit's name",
      { spec: { limits: { memory: "1Gi" } } },
      expect.stringMatching(/^spec\.limits\.memory: is an unknown key/) as string,
    ],
    ["a limit of zero", { spec: { limits: { pids: 0 } } }, "spec.limits.pids: must be at least 1"],
    ["a negative limit", { spec: { limits: { timeout_ms: -1 } } }, "spec.limits.timeout_ms: must be at least 1"],
    ["half a cpu", { spec: { limits: { cpu: 0.5 } } }, "spec.limits.cpu: must be a whole number, not 0.5 (1 to 256)"],
    [
      "a count in Ki",
      { spec: { limits: { pids: "1Ki" } } },
      'spec.limits.pids: must be a whole number, not "1Ki" (1 to 32768)',
    ],
    [
      "a size in MB",
      { spec: { limits: { memory_bytes: "64MB" } } },
      "spec.limits.memory_bytes: is not a size (write whole bytes or a whole number and one of Ki, Mi, Gi, like 64Mi)",
    ],
    [
      "a secret's value",
      { spec: { secrets: { KEY: "sk-12345" } } },
      'spec.secrets.KEY: "sk-12345" is not valid here (secrets are named, never written down: secret://namespace/name)',
    ],
    [
      "a secret without namespace",
      { spec: { secrets: { KEY: "secret://name" } } },
      'spec.secrets.KEY: "secret://name" is not valid here (secrets are named, never written down: secret://namespace/name)',
    ],
    [
      "a secret's way out",
      { spec: { secrets: { KEY: "secret://ns/../other" } } },
      'spec.secrets.KEY: "secret://ns/../other" is not valid here (secrets are named, never written down: secret://namespace/name)',
    ],
    [
      "a secret's variable",
      { spec: { secrets: { "1KEY": "secret://ns/name" } } },
      'spec.secrets["1KEY"]: "1KEY" is not valid here (letters, digits and _, not starting with a digit, like API_KEY)',
    ],
    [
      "a variable's name",
      { spec: { env: { "A=B": "c" } } },
      'spec.env["A=B"]: "A=B" is not valid here (letters, digits and _, not starting with a digit, like API_KEY)',
    ],
    [
      "a variable's number",
      { spec: { env: { PORT: 80 } } },
      'spec.env.PORT: must be text, not 80 (put it in quotes: "80")',
    ],
    [
      "a variable that is a secret",
      { spec: { env: { A: "x" }, secrets: { A: "secret://ns/name" } } },
      "spec.env.A: is a secret of the same name too (keep one of the two)",
    ],
    [
      "a URL",
      { spec: { network: { allow: ["https://example.com"] } } },
      'spec.network.allow[0]: "https://example.com" is an address, not a host (host or host:port, like api.example.com or api.example.com:8443)',
    ],
    [
      "a port",
      { spec: { network: { allow: ["example.com:70000"] } } },
      'spec.network.allow[0]: "example.com:70000" is no host (host or host:port, like api.example.com or api.example.com:8443)',
    ],
    [
      "a star inside",
      { spec: { network: { allow: ["a.*.com"] } } },
      'spec.network.allow[0]: "a.*.com" is no host (host or host:port, like api.example.com or api.example.com:8443)',
    ],
    ["a network key", { spec: { network: { deny: [] } } }, "spec.network.deny: is an unknown key (known keys: allow)"],
    [
      "a relative path",
      { spec: { filesystem: { read: ["workspace"] } } },
      "spec.filesystem.read[0]: must be an absolute path (a path inside the sandbox, like /workspace/input)",
    ],
    [
      "a path outside",
      { spec: { filesystem: { write: ["/workspace/../etc"] } } },
      "spec.filesystem.write[0]: leads outside: .. is not accepted (a path inside the sandbox, like /workspace/input)",
    ],
    [
      "a long way",
      { spec: { filesystem: { write: ["/workspace//a"] } } },
      "spec.filesystem.write[0]: is not in its shortest form (a path inside the sandbox, like /workspace/input)",
    ],
    [
      "an event",
      { spec: { events: ["a b"] } },
      'spec.events[0]: "a b" is not valid here (letters and digits, with . _ - inside, like invoice.created)',
    ],
    [
      "something unknown of the context",
      { spec: { context: ["history"] } },
      'spec.context[0]: must be one of projection, not "history"',
    ],
    [
      "answers that are kept by their input and depend on the session",
      { spec: { side_effect_class: "read_only", context: ["projection"], pure: true, cache: { ttl: "1m" } } },
      "spec.cache: keeps answers by their input, and this tool's depend on its session too (leave out cache or context)",
    ],
    [
      "an inline policy",
      { spec: { default_policies: [{ kind: "Policy" }] } },
      "spec.default_policies[0]: is a policy written in place (publish the policy and write its name or name@version here)",
    ],
    [
      "a policy's range",
      { spec: { default_policies: ["a@^1"] } },
      'spec.default_policies[0]: "^1" is no version (like 1.2.0)',
    ],
    [
      "placement",
      { spec: { placement: { prefers: {} } } },
      'spec.placement.prefers: is an unknown key (did you mean "prefer"?)',
    ],
    [
      "an allow-list of nobody",
      { spec: { integrity: { identities: [] } } },
      "spec.integrity.identities: must name somebody; leave it out where anybody may run the tool",
    ],
    [
      "an identity with a star, which would match nobody",
      { spec: { integrity: { identities: ["service:*"] } } },
      'spec.integrity.identities[0]: "service:*" is not valid here (one workload identity, without spaces; a * stands for nothing here)',
    ],
    [
      "a digest",
      { spec: { integrity: { image_digests: ["sha256:00"] } } },
      'spec.integrity.image_digests[0]: "sha256:00" is not valid here (sha256: and 64 hexadecimal digits)',
    ],
    [
      "a schema in a word",
      { spec: { input: "schema.json" } },
      'spec.input: must be a JSON Schema object, not "schema.json"',
    ],
    [
      "a schema's keyword",
      { spec: { input: { type: "object", requird: [] } } },
      'spec.input#/requird: "requird" is no keyword of JSON Schema (did you mean "required"?)',
    ],
    [
      "a remote schema",
      { spec: { output: { $ref: "https://example.com/s.json" } } },
      'spec.output#/$ref: "https://example.com/s.json" is not in this schema (copy it into $defs and refer to it as #/$defs/name; nothing is fetched)',
    ],
    [
      "a schema's file without a folder",
      { spec: { input: { file: "schema.json" } } },
      "spec.input.file: names a file, but only the manifest itself was sent (write the schema in place, or register the tool's folder)",
    ],
  ])("%s", (_, changes, problem) => {
    expect(problemsOf(manifest(changes))).toEqual([problem]);
  });

  test("all of them at once", () => {
    const wrong = manifest({
      metadata: { owner: undefined, version: "1" },
      spec: { side_effect_class: "x", timeout: "soon", limits: { pids: -1 }, trust: 1 },
      top: { extra: 1 },
    });
    expect(problemsOf(wrong).map((text) => text.split(":")[0])).toEqual([
      "extra",
      "metadata.version",
      "metadata.owner",
      "spec.trust",
      "spec.limits.pids",
      "spec.side_effect_class",
      "spec.timeout",
    ]);
  });

  test("at most a hundred of them", () => {
    const extra = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`zz${index}`, 1]));
    expect(problemsOf(manifest({ spec: extra })).length).toBe(100);
  });
});

describe("what has no meaning for an agent is refused by its name", () => {
  const agent = { executor: { type: "agent", agent: "specialist" }, side_effect_class: "read_only" };
  const elsewhere = "has no meaning for an agent (leave it out: the tools that the agent calls say it)";

  test.each<[Fields, string]>([
    [{ network: { allow: ["api.example.com"] } }, `spec.network: ${elsewhere}`],
    [{ filesystem: { read: ["/data"] } }, `spec.filesystem: ${elsewhere}`],
    [{ env: { A: "b" } }, `spec.env: ${elsewhere}`],
    [{ limits: { memory_bytes: 67_108_864 } }, `spec.limits.memory_bytes: ${elsewhere}`],
    [{ secrets: { A: "secret://house/a" } }, `spec.secrets: ${elsewhere}`],
    [{ events: ["order.paid"] }, `spec.events: ${elsewhere}`],
    [{ placement: { prefer: { zone: "a" } } }, `spec.placement: ${elsewhere}`],
    [{ integrity: { identities: ["service:w"] } }, `spec.integrity: ${elsewhere}`],
    [{ retry: { attempts: 2 } }, "spec.retry.attempts: has no meaning for an agent (a call runs one session, and would find the very same again)"],
    [{ pure: true }, "spec.pure: cannot be said of an agent (no two answers of a model need be alike)"],
    [{ executor: { type: "agent", agent: "specialist", min: 40 } }, "spec.executor.min: is an unknown key (known keys: type, agent)"],
  ])("%o", (changes, problem) => {
    expect(problemsOf(manifest({ spec: { ...agent, ...changes } }))).toEqual([problem]);
  });

  test("what the runtime itself keeps to is taken, and no class need be said: no call of it is ever in doubt", () => {
    const outcome = readManifest(manifest({ spec: { ...agent, side_effect_class: undefined, timeout: "10m", limits: { output_bytes: 1_000, concurrent_calls: 2 } } }));
    expect(outcome.ok && outcome.warnings).toEqual([]);
  });
});
