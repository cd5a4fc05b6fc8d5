// What a caller is told when a name and a version come to nothing that may run.
import { SignalboxError, fieldFault } from "@signalbox/protocol";
import type { Resolution } from "../registry/resolve.ts";

/** What is neither a version nor a range. */
export const versionFault = fieldFault("/version", "pattern", "must be a version like 1.2.0 or a range like ^1.2.0");

export type Unresolved = Exclude<Resolution, { readonly ok: true }>;

/** What a denied row of a disabled tool, and its 403, carry. */
export function disabledDetails(project: string): { readonly reason: "tool_disabled"; readonly project: string } {
  return { reason: "tool_disabled", project };
}

/**
 * `tool_not_found`, `invalid_input`, `integrity_violation`, or `forbidden` for a tool that is disabled in the project.
 * @param wish the name and the version as they were asked for
 */
export function unresolvedError(
  wish: { readonly tool: string; readonly version?: string | undefined },
  found: Unresolved,
): SignalboxError {
  const { tool, version } = wish;
  const details = { tool, ...(version === undefined ? {} : { version }) };
  switch (found.reason) {
    case "bad_version":
      return new SignalboxError("invalid_input", `"${version}" is neither a version nor a range like ^1.2.0`, {
        details: { ...details, fields: [versionFault] },
      });
    case "quarantined": {
      const what = `${tool}@${found.version.version}`;
      const message = `${what} is quarantined and does not run until its owner releases it; another version can be named`;
      return new SignalboxError("integrity_violation", message, {
        details: { ...details, version: found.version.version },
      });
    }
    case "disabled": {
      const message = `${tool} is disabled in the project ${found.project}; an administrator can enable it: signalbox tools enable ${tool} --project ${found.project}`;
      return new SignalboxError("forbidden", message, { details: { ...details, ...disabledDetails(found.project) } });
    }
    case "not_found":
      return notFound(wish, found, details);
  }
}

function notFound(
  { tool, version }: { readonly tool: string; readonly version?: string | undefined },
  { near, versions, pinned }: Extract<Unresolved, { readonly reason: "not_found" }>,
  details: Readonly<Record<string, unknown>>,
): SignalboxError {
  const more = {
    ...(near.length === 0 ? {} : { did_you_mean: near }),
    ...(versions.length === 0 ? {} : { versions }),
    ...(pinned === undefined ? {} : { pinned }),
  };
  return new SignalboxError("tool_not_found", notFoundMessage(tool, version, pinned), {
    details: { ...details, ...more },
  });
}

function notFoundMessage(tool: string, version: string | undefined, pinned: string | undefined): string {
  if (pinned !== undefined)
    return `${tool} is pinned to ${pinned}, and no version of it fits; pin another one: signalbox tools pin ${tool} <version>`;
  if (version !== undefined) return `there is no version ${version} of ${tool}`;
  return `there is no tool ${tool}; 'signalbox tools list' shows those you may see`;
}
