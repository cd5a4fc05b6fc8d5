// Tools and their versions as callers see them.
import { iso } from "../../../call/view.ts";
import type { Activation, BreakerPolicy, ProjectTool, ToolPin, ToolRecord, ToolSpec, ToolVersion } from "../../../registry/types.ts";
import type { ToolView } from "../../../service.ts";

export function toolView(record: ToolRecord): Record<string, unknown> {
  return {
    tool: record.tool,
    active_version: record.activeVersion,
    description: record.description,
    side_effect_class: record.sideEffectClass,
    executor: record.executorType,
    owner: record.owner,
    category: record.category,
    labels: record.labels,
    owned_by: record.tenant,
    created_at: iso(record.createdAt),
  };
}

export function versionView(version: ToolVersion): Record<string, unknown> {
  const { metadata } = version;
  return {
    tool: version.tool,
    version: version.version,
    owner: metadata.owner,
    description: metadata.description,
    category: metadata.category,
    labels: metadata.labels,
    trust: version.trust,
    status: version.status,
    manifest_digest: version.manifestDigest,
    package_digest: version.packageDigest,
    published_at: iso(version.publishedAt),
    published_by: version.publishedBy,
    spec: specView(version.spec),
  };
}

/** Values of `env` stay inside: they are for the tool's process, and some people write secrets there. */
function specView(spec: ToolSpec): Record<string, unknown> {
  return {
    executor: spec.executor,
    input: spec.input,
    output: spec.output,
    side_effect_class: spec.sideEffectClass,
    scheduling: spec.scheduling,
    permissions: spec.permissions,
    timeout_ms: spec.timeoutMs,
    grace_ms: spec.graceMs,
    retry: {
      attempts: spec.retry.attempts,
      strategy: spec.retry.strategy,
      initial_ms: spec.retry.initialMs,
      max_ms: spec.retry.maxMs,
      factor: spec.retry.factor ?? 2,
      timeouts: spec.retry.timeouts ?? false,
    },
    breaker: breakerRuleView(spec.breaker ?? null),
    pure: spec.pure,
    cache_ttl_ms: spec.cacheTtlMs,
    on_indeterminate: spec.onIndeterminate,
    limits: spec.limits,
    secrets: Object.keys(spec.secrets),
    env: Object.keys(spec.env),
    network_allow: spec.networkAllow,
    filesystem: spec.filesystem,
    events: spec.events,
    context: spec.context ?? [],
    default_policies: spec.defaultPolicies,
    placement: spec.placement,
  };
}

function breakerRuleView(rule: BreakerPolicy | null): Record<string, unknown> | null {
  return rule === null ? null : { failures: rule.failures, cool_down_ms: rule.coolDownMs };
}

/** The tool, all its versions' names, and one version whole. */
export function toolDetailView(view: ToolView): Record<string, unknown> {
  return {
    ...toolView(view.record),
    versions: view.versions,
    workers: view.workers,
    breaker: { state: view.breaker.state, failures: view.breaker.failures, open_until: view.breaker.openUntil === null ? null : iso(view.breaker.openUntil) },
    version: versionView(view.version),
  };
}

/** `version` is as it was asked for: an exact one or a range; null when the pin is gone. */
export function pinView({ tool, requested, changedAt, changedBy }: ToolPin): Record<string, unknown> {
  return { tool, version: requested, changed_at: iso(changedAt), changed_by: changedBy };
}

export function projectToolView(row: ProjectTool): Record<string, unknown> {
  const { project, tool, enabled, changedAt, changedBy } = row;
  return { project, tool, enabled, changed_at: iso(changedAt), changed_by: changedBy };
}

export function activationView({ tool, version, at, by }: Activation): Record<string, unknown> {
  return { tool, version, at: iso(at), by };
}
