// Checks an agent's manifest without a runtime: by itself, and against the policies and tools in the files beside it.
import { dirname } from "node:path";
import { filesIn } from "../adapters/files/manifest-files.ts";
import type { ManifestSource } from "../adapters/files/manifest-source.ts";
import type { Problem } from "../document/problems.ts";
import type { AgentSpec } from "../registry/agents/types.ts";
import type { ToolSpec } from "../registry/types.ts";
import type { Io } from "./io.ts";

export interface AgentFindings {
  /** `name@version`, where it can be told. */
  readonly name: string | undefined;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/**
 * @param path of the manifest; the files of its bundle stand in its folder and below
 * @param look `policies`: those that it names must have files there
 */
export async function checkAgentFile(io: Io, path: string, { document, texts }: ManifestSource, look = { policies: true }): Promise<AgentFindings> {
  const { readAgent } = await import("../registry/agents/manifest.ts");
  const read = readAgent(document, texts);
  if (!read.ok) return { name: undefined, problems: read.problems, warnings: [] };
  const { metadata, spec } = read;
  const folder = dirname(path);
  return {
    name: `${metadata.name}@${metadata.version}`,
    problems: [...(look.policies ? await missingPolicies(folder, spec) : []), ...(await looserBindings(folder, spec))],
    warnings: [...read.warnings, ...unsetVariables(io, spec)],
  };
}

/** A policy that has no file here may be published all the same: whether it is only a runtime knows. */
async function missingPolicies(folder: string, { defaultPolicies, tools }: AgentSpec): Promise<readonly Problem[]> {
  const named = [
    ...defaultPolicies.map((reference, index) => ({ reference, path: `spec.default_policies[${index}]` })),
    ...tools.flatMap(({ policies }, tool) => policies.map((reference, index) => ({ reference, path: `spec.tools[${tool}].policies[${index}]` }))),
  ];
  if (named.length === 0) return [];
  const there = await policiesBelow(folder);
  return named
    .filter(({ reference }) => !there.has(reference))
    .map(({ reference, path }) => ({
      path,
      message: `names the policy ${reference}, and no file of it stands in the manifest's folder or below`,
      hint: "put it there, or ask a runtime what is published: signalbox agents validate --server",
    }));
}

async function policiesBelow(folder: string): Promise<ReadonlySet<string>> {
  const [{ readSource }, { readPolicy }] = await Promise.all([import("../adapters/files/manifest-source.ts"), import("../policy/document.ts")]);
  const names = new Set<string>();
  for (const file of await filesIn(folder, "policies")) {
    const source = await readSource(file);
    const read = source.ok ? readPolicy(source.source.document) : undefined;
    if (read?.ok === true) names.add(read.policy.name).add(`${read.policy.name}@${read.policy.version}`);
  }
  return names;
}

async function looserBindings(folder: string, { tools }: AgentSpec): Promise<readonly Problem[]> {
  if (tools.length === 0) return [];
  const { looserThanTool } = await import("../registry/agents/tighten.ts");
  const there = await toolsBelow(folder);
  return tools.flatMap((binding, index) => {
    const tool = there.get(`${binding.tool}@${binding.version}`);
    return tool === undefined ? [] : looserThanTool(binding, tool, `spec.tools[${index}]`);
  });
}

async function toolsBelow(folder: string): Promise<ReadonlyMap<string, ToolSpec>> {
  const [{ readSource }, { readManifest }] = await Promise.all([import("../adapters/files/manifest-source.ts"), import("../registry/manifest.ts")]);
  const found = new Map<string, ToolSpec>();
  for (const file of await filesIn(folder, "tools")) {
    const source = await readSource(file);
    const read = source.ok ? readManifest(source.source.document, source.source.files) : undefined;
    if (read?.ok === true) found.set(`${read.metadata.name}@${read.metadata.version}`, read.spec);
  }
  return found;
}

/** Only a warning: the machine that checks a manifest need not be the one that has its secrets. */
function unsetVariables(io: Io, { secrets }: AgentSpec): readonly Problem[] {
  return Object.entries(secrets).flatMap(([name, reference]) => {
    const variable = reference.startsWith("env:") ? reference.slice("env:".length) : undefined;
    if (variable === undefined || (io.env[variable] ?? "") !== "") return [];
    return [{ path: `spec.secrets.${name}`, message: `the variable ${variable} is not set here`, hint: "the runtime that runs the agent needs it" }];
  });
}
