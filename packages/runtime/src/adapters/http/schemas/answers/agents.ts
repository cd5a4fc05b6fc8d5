// What answers tell of agents: what their manifests say, which version runs, and what was done to them.
import { z } from "zod";
import { agentActions, agentStatuses, limitActions } from "../../../../registry/agents/types.ts";
import { sideEffectClass } from "../fields.ts";
import { at, atOrNull, count, hash, labels, pageOf, texts } from "./common.ts";

const agentFields = {
  agent: z.string(),
  deployed_version: z.string().nullable().describe("What a session runs that names none; null: none is deployed"),
  latest_version: z.string().describe("The one that was published last"),
  description: z.string(),
  owner: z.string(),
  created_at: at,
  archived_at: atOrNull.describe("An archived agent starts no sessions; null: it is none"),
};

export const agent = z.strictObject(agentFields).meta({ id: "Agent", description: "An agent: a name, and which version runs for it" });
export const agentPage = pageOf("AgentPage", agent);

const binding = z
  .strictObject({
    tool: z.string(),
    version: z.string(),
    as: z.string().describe("What the model calls it"),
    input: z.unknown().optional().describe("JSON Schema that the input must match beside the tool's own"),
    scheduling: z.string().nullable().describe("Null: as the tool says"),
    side_effect_class: sideEffectClass.nullable().describe("Null: as the tool says"),
    policies: texts,
  })
  .meta({ id: "ToolBinding", description: "A tool that an agent may call, tightened" });

const spec = z
  .strictObject({
    model: z.strictObject({
      provider: z.string(),
      name: z.string(),
      max_output_tokens: count,
      temperature: z.number().nullable().describe("Null: as the provider sees fit"),
    }),
    instructions: z.string(),
    tools: z.array(binding),
    default_policies: texts,
    permissions: texts.describe("What its calls may need at most"),
    limits: z.strictObject({
      max_steps: count,
      max_tokens: count,
      max_wall_clock_ms: count,
      max_tool_calls: count,
      max_approval_wait_ms: count,
      max_concurrent_calls: count,
      on_limit: z.enum(limitActions),
    }),
    secrets: z.record(z.string(), z.string()).describe("References, by name"),
  })
  .meta({ id: "AgentSpec", description: "A manifest's `spec`, defaults filled in; times in ms" });

const status = z.enum(agentStatuses).describe("`deprecated`: starts no sessions; `retired`: the same, for good");

const versionFields = {
  agent: z.string(),
  version: z.string(),
  version_id: z.string().describe("Stands in the ids of its calls"),
  owner: z.string(),
  description: z.string(),
  labels,
  status,
  deployed: z.boolean().describe("Whether it is what new sessions run that name no version"),
  manifest_digest: hash.describe("SHA-256 of the canonical manifest"),
  children: z.record(z.string(), z.string()).describe("Agents that its tools run, each with the version that was deployed when this was published"),
  published_at: at,
  published_by: z.string(),
  spec,
};

export const agentVersion = z.strictObject(versionFields).meta({ id: "AgentVersion", description: "One immutable published version" });

const warning = z.strictObject({ path: z.string(), message: z.string(), hint: z.string().optional() });

export const publishedAgent = z
  .strictObject({
    ...versionFields,
    already_there: z.boolean().describe("The same manifest was published before; nothing has changed"),
    dry_run: z.boolean(),
    warnings: z.array(warning),
  })
  .meta({ id: "PublishedAgent", description: "What publishing came to" });

export const agentDetail = z
  .strictObject({ ...agentFields, versions: texts.describe("All versions, in the order in which they were published"), version: agentVersion.describe("The shown version") })
  .meta({ id: "AgentDetail", description: "An agent with one version whole" });

export const rolledBackAgent = z
  .strictObject({ ...agentFields, from: z.string().describe("The version that was deployed before") })
  .meta({ id: "RolledBackAgent", description: "An agent that is back at another version" });

const line = z
  .strictObject({
    agent: z.string(),
    version: z.string(),
    version_id: z.string(),
    status,
    deployed: z.boolean(),
    manifest_digest: hash,
    model: z.string().describe("`provider/name`"),
    tools: count.describe("How many it may call"),
    published_at: at,
    published_by: z.string(),
  })
  .meta({ id: "AgentVersionLine", description: "One version in a list" });

export const agentVersionPage = pageOf("AgentVersionPage", line);

const difference = z.strictObject({
  path: z.string().describe("Where, like `spec.tools[\"payments.charge\"].version`"),
  before: z.unknown().describe("Null: it is not there"),
  after: z.unknown().describe("Null: it is not there"),
});

export const agentDiff = z
  .strictObject({
    agent: z.string(),
    from: z.string(),
    to: z.string(),
    differences: z.array(difference).describe("In the order of the fields; tools are told by their names, not their places"),
    more: count.describe("That were found and are not told"),
  })
  .meta({ id: "AgentDiff", description: "Two versions held side by side" });

const change = z
  .strictObject({
    agent: z.string(),
    action: z.enum(agentActions),
    version: z.string().nullable().describe("Null: the whole agent was meant"),
    at,
    by: z.string(),
    comment: z.string(),
  })
  .meta({ id: "AgentChange", description: "One thing that was done to an agent" });

export const agentChangePage = pageOf("AgentChangePage", change);
