// Documents for tests: a tool that a worker serves and a policy, with as little as each must say.

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

/** What a rule says under `then`, shortened: `ask(finance, 2)`. */
export function ask(route: string, approvals = 1, more: Readonly<Record<string, unknown>> = {}) {
  return { decision: "require_approval", reason: "a person must look", approval: { route, approvals, ...more } };
}

export interface RuleText {
  readonly name: string;
  readonly version?: string;
  readonly level?: "platform" | "tenant" | "project" | null;
  readonly project?: string;
  readonly mode?: string;
  readonly match?: Readonly<Record<string, readonly string[]>>;
  readonly when?: string;
  readonly missing?: string;
  readonly then: Readonly<Record<string, unknown>>;
}

export function policyDocument({
  name,
  version = "1.0.0",
  level = "tenant",
  project,
  match = {},
  when,
  missing,
  mode,
  then,
}: RuleText) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Policy",
    metadata: { name, version, ...(level === null ? {} : { level }), ...(project === undefined ? {} : { project }) },
    spec: {
      ...(mode === undefined ? {} : { mode }),
      match,
      ...(when === undefined ? {} : { when }),
      ...(missing === undefined ? {} : { missing }),
      then,
    },
  };
}

export const deny = (reason: string) => ({ decision: "deny", reason });

/** An agent without tools, driven by a scripted model. */
export function agentDocument(name: string, version = "1.0.0", spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: "signalbox.dev/v1",
    kind: "Agent",
    metadata: { name, version, owner: "tests", description: `Is ${name}` },
    spec: { model: { provider: "scripted", name: "turns" }, instructions: "Be kind.", ...spec },
  };
}
