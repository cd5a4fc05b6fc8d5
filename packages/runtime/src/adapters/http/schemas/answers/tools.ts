// What answers tell of tools, their versions, and which of them runs.
import { z } from "zod";
import { toolStatuses } from "../../../../registry/types.ts";
import { sideEffectClass } from "../fields.ts";
import { anyObject, at, count, hash, labels, pageOf, texts } from "./common.ts";

const toolFields = {
  tool: z.string(),
  active_version: z
    .string()
    .nullable()
    .describe("What callers get that name none and have no pin; null: none is active"),
  description: z.string(),
  side_effect_class: sideEffectClass,
  executor: z.enum(["worker", "sandbox", "mcp", "agent"]),
  owner: z.string(),
  category: z.string(),
  labels,
  owned_by: z.string().describe("The tenant, or `platform`"),
  created_at: at,
};

export const tool = z
  .strictObject(toolFields)
  .meta({ id: "Tool", description: "A tool, as its active version tells it" });

export const toolPage = pageOf("ToolPage", tool);

const executor = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("worker") }),
    z.strictObject({
      type: z.literal("sandbox"),
      runtime: z.enum(["js", "node", "python", "wasm", "exec"]),
      entry: z.string(),
      image: z.string().optional(),
      min: count.optional().describe("Rank of the weakest backend that will do"),
      result: z.enum(["fd3", "stdout"]).optional().describe("Where the result comes from; `fd3` without it"),
    }),
    z.strictObject({ type: z.literal("mcp"), server: z.string(), tool: z.string() }),
    z.strictObject({ type: z.literal("agent"), agent: z.string() }),
  ])
  .meta({ id: "Executor", description: "What runs the tool" });

const spec = z
  .strictObject({
    executor,
    input: z.unknown().describe("JSON Schema of the arguments"),
    output: z.unknown().optional().describe("JSON Schema of the result; absent: anything"),
    side_effect_class: sideEffectClass,
    scheduling: z.string(),
    permissions: texts.describe("What a call needs"),
    timeout_ms: count,
    grace_ms: count,
    retry: z.strictObject({
      attempts: count,
      strategy: z.enum(["fixed", "linear", "exponential"]),
      initial_ms: count,
      max_ms: count,
      factor: count.describe("By which an exponential wait grows"),
      timeouts: z.boolean().describe("Whether a timeout is worth another attempt"),
    }),
    breaker: z
      .strictObject({ failures: count.describe("So many in a row open it"), cool_down_ms: count.describe("How long it stays open") })
      .nullable()
      .describe("When calls of the tool are refused at once, because it is down; null: never"),
    pure: z.boolean(),
    cache_ttl_ms: count,
    on_indeterminate: z.enum(["ask", "fail"]),
    limits: z.record(z.string(), z.number()),
    secrets: texts.describe("Names"),
    env: texts.describe("Names"),
    network_allow: texts,
    filesystem: z.strictObject({ read: texts, write: texts }),
    events: texts,
    context: texts.describe("What a session puts into the context of its calls: `projection`"),
    default_policies: texts,
    placement: z.strictObject({ match: labels, prefer: labels }),
  })
  .meta({ id: "ToolSpec", description: "A manifest's `spec`, defaults filled in; times in ms, sizes in bytes" });

const versionFields = {
  tool: z.string(),
  version: z.string(),
  owner: z.string(),
  description: z.string(),
  category: z.string(),
  labels,
  trust: z.enum(["first_party", "verified", "untrusted"]),
  status: z.enum(toolStatuses).describe("`deprecated`: no range chooses it; `quarantined`: it does not run"),
  manifest_digest: hash.describe("SHA-256 of the canonical manifest"),
  package_digest: z.string().nullable().describe("Of the code that it runs; null: none"),
  published_at: at,
  published_by: z.string(),
  spec,
};

export const toolVersion = z
  .strictObject(versionFields)
  .meta({ id: "ToolVersion", description: "One immutable published version" });

export const registeredTool = z
  .strictObject({
    ...versionFields,
    active: z.boolean(),
    already_there: z.boolean().describe("The same manifest was registered before; nothing has changed"),
    warnings: texts,
  })
  .meta({ id: "RegisteredTool", description: "What registering came to" });

export const toolDetail = z
  .strictObject({
    ...toolFields,
    versions: texts.describe("All versions"),
    workers: count.describe("Workers connected now that serve the shown version"),
    breaker: z
      .strictObject({
        state: z.enum(["closed", "open", "half_open"]).describe("`open`: calls are refused; `half_open`: one call tries the tool"),
        failures: count.describe("In a row"),
        open_until: at.nullable().describe("When it is tried again; null while it is closed"),
      })
      .describe("Of the shown version, for the asking tenant, as this replica knows it"),
    version: toolVersion.describe("The shown version"),
  })
  .meta({ id: "ToolDetail", description: "A tool with one version whole" });

export const rolledBackTool = z
  .strictObject({ ...toolFields, from: z.string().describe("The version that was active before") })
  .meta({ id: "RolledBackTool", description: "A tool that is back at another version" });

export const toolPin = z
  .strictObject({
    tool: z.string(),
    version: z.string().nullable().describe("An exact version or a range; null: the pin is gone"),
    changed_at: at,
    changed_by: z.string(),
  })
  .meta({ id: "ToolPin", description: "What a tenant's callers get that name no version" });

export const toolPinPage = pageOf("ToolPinPage", toolPin);

export const projectTool = z
  .strictObject({ project: z.string(), tool: z.string(), enabled: z.boolean(), changed_at: at, changed_by: z.string() })
  .meta({ id: "ProjectTool", description: "Whether a project may use a tool" });

export const projectToolPage = pageOf("ProjectToolPage", projectTool);

const activation = z
  .strictObject({ tool: z.string(), version: z.string(), at, by: z.string() })
  .meta({ id: "Activation", description: "One choice of the active version" });

export const activationPage = pageOf("ActivationPage", activation);

export const quarantine = z
  .strictObject({
    tool: z.string(),
    versions: texts.describe("The versions that changed"),
    denied: count.describe("Waiting calls that were denied"),
  })
  .meta({ id: "QuarantineResult", description: "What a quarantine, or its end, changed" });

export const manifest = anyObject.meta({
  id: "Manifest",
  description:
    "A document with `apiVersion`, `kind`, `metadata` and `spec`; checked by the registry, every problem named with its path",
});
