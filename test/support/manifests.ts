// Manifests for tests: a tool that a worker serves, with as little as a manifest must say.

export type Manifest = ReturnType<typeof workerTool>;

/** `spec` overrides and adds fields, e.g. `side_effect_class` (else `read_only`), `timeout`, `input`, `output`, `permissions`. */
export function workerTool(name: string, version = "1.0.0", spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name, version, owner: "tests", description: `The tool ${name} of a test` },
    spec: { executor: { type: "worker" }, side_effect_class: "read_only", input: { type: "object" }, ...spec },
  };
}
