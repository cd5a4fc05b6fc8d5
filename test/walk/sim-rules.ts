// What the walk's calls are judged by: four tools, rules that ask people about one principal's calls, and tools that are barred for a while.
import { createHash } from "node:crypto";
import type { SideEffectClass } from "@signalbox/protocol";
import { Catalog } from "../../packages/runtime/src/corridor/catalog.ts";
import { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import type { ApprovalDemand, PolicyVersion, Trigger } from "../../packages/runtime/src/policy/types.ts";
import { readManifest } from "../../packages/runtime/src/registry/manifest.ts";
import type { Resolution } from "../../packages/runtime/src/registry/resolve.ts";
import type { ToolVersion } from "../../packages/runtime/src/registry/types.ts";
import type { Directory } from "../../packages/runtime/src/tenancy/directory.ts";
import { policyVersion } from "../support/policies.ts";

export const tools: Readonly<Record<string, SideEffectClass>> = {
  read: "read_only",
  put: "idempotent_write",
  pay: "non_idempotent_write",
  launch: "irreversible_action",
};
export const tenant = "t";
/** Whose calls the rules look at; all others run unasked. */
export const governed = "user:governed";

export const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

const toolVersions = new Map(Object.entries(tools).map(([tool, sideEffectClass]) => [tool, toolVersion(tool, sideEffectClass)]));

function toolVersion(tool: string, sideEffectClass: SideEffectClass): ToolVersion {
  const read = readManifest({
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name: tool, version: "1.0.0", owner: "walk", description: "A tool of the walk." },
    spec: {
      executor: { type: "worker" },
      input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"], additionalProperties: false },
      side_effect_class: sideEffectClass,
    },
  });
  if (!read.ok) throw new Error("the walk's own manifest is wrong");
  const { metadata, spec } = read;
  const published = { trust: "first_party", status: "active", publishedAt: 1, publishedBy: "user:walk" } as const;
  return { tenant, tool, version: "1.0.0", metadata, spec, manifestDigest: "", packageDigest: null, ...published };
}

function demand(route: string, approvals: number, seconds: number, more: Partial<ApprovalDemand> = {}): ApprovalDemand {
  return {
    route,
    approvals,
    distinctFromRequester: true,
    timeoutMs: seconds * 1_000,
    onTimeout: "deny",
    onReject: "return_to_agent",
    escalateTo: null,
    comprehension: false,
    ...more,
  };
}

function asks(name: string, when: string | null, approval: ApprovalDemand, triggers: readonly Trigger[] = []): PolicyVersion {
  return policyVersion({ tenant, name, when, match: { principals: [governed], triggers }, decision: "require_approval", approval });
}

/** Every way in which an approval can end is one range of amounts away. */
const rules: readonly PolicyVersion[] = [
  asks("one", "args.amount > 100.0 && args.amount <= 200.0", demand("finance", 1, 8)),
  asks("two", "args.amount > 200.0 && args.amount <= 300.0", demand("finance", 2, 12)),
  asks("in-time", "args.amount > 300.0 && args.amount <= 400.0", demand("ops", 1, 5, { onTimeout: "allow" })),
  asks("higher-up", "args.amount > 400.0 && args.amount <= 500.0", demand("ops", 1, 4, { onTimeout: "escalate", escalateTo: "lead" })),
  policyVersion({ tenant, name: "never", when: "args.amount > 900.0", match: { principals: [governed] }, decision: "deny" }),
  asks("nobody-there", null, demand("ops", 1, 10), ["dispatch.no_handler", "dispatch.capacity_exhausted"]),
  asks("unknown-end", null, demand("lead", 1, 15), ["dispatch.indeterminate", "dispatch.lease_expired"]),
];

/** The reads of tools; the walk's ledger has them beside its own. */
export const toolReads: Pick<Ledger, "toolVersion" | "countCalls"> = {
  toolVersion: async (_tenant, tool) => toolVersions.get(tool),
  countCalls: async () => 0,
};

/** In force for the whole walk: the rules do not change, the bars do. */
export async function bookOfRules(): Promise<PolicyBook> {
  const book = new PolicyBook(() => undefined);
  const none = { tenants: async () => [], projects: async () => [], policyDefaults: async () => [] };
  await book.load({ ...none, policies: async () => rules.map((rule) => ({ ...rule, documentJson: "{}" })) });
  return book;
}

/** Everybody may call everything, and nobody's key is ever revoked. */
export const openDirectory = {
  holdingsByName: async () => ({ permissions: ["*"], roles: [] }),
} as unknown as Directory;

/** Compiling the schemas anew for every process of every episode would take a quarter of the walk. */
const compiled = new Catalog(toolReads as unknown as Ledger, hash);

/** The real catalog over the walk's tools; a tool that is barred counts as disabled. */
export class BarredCatalog extends Catalog {
  readonly #isBarred: (tool: string) => boolean;

  constructor(isBarred: (tool: string) => boolean) {
    super(toolReads as unknown as Ledger, hash);
    this.#isBarred = isBarred;
  }

  override ready(version: ToolVersion) {
    return compiled.ready(version);
  }

  override async resolve(_tenant: string, tool: string, _requested: string, _maySee?: unknown, project = ""): Promise<Resolution> {
    const version = toolVersions.get(tool);
    if (version === undefined) return { ok: false, reason: "not_found", near: [], versions: [] };
    return this.#isBarred(tool) ? { ok: false, reason: "disabled", version, project } : { ok: true, version };
  }

  override async standing(call: { readonly tool: string }) {
    return this.#isBarred(call.tool) ? ({ ok: false, reason: "disabled" } as const) : ({ ok: true } as const);
  }
}

export function readyTool(tool: string) {
  const version = toolVersions.get(tool);
  if (version === undefined) throw new Error(`the walk has no tool ${tool}`);
  return compiled.ready(version);
}
