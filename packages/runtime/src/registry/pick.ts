// Picks the version that a wish comes to among many, by their order and their statuses.
import { compareVersions, inRange, parseRange, parseVersion, type Version } from "../document/versions.ts";
import type { ListedVersion } from "./types.ts";

export interface OrderedVersion extends ListedVersion {
  readonly parsed: Version;
}

/** Newest first; texts that are no versions are left out. */
export function orderVersions(versions: Iterable<ListedVersion>): readonly OrderedVersion[] {
  const ordered: OrderedVersion[] = [];
  for (const { version, status } of versions) {
    const parsed = parseVersion(version);
    if (parsed !== undefined) ordered.push({ version, status, parsed });
  }
  // Equal precedence (build metadata) is settled by the text, so that every replica picks the same.
  return ordered.sort(
    (one, other) => compareVersions(other.parsed, one.parsed) || (one.version < other.version ? 1 : -1),
  );
}

export type Picked =
  | { readonly ok: true; readonly version: string }
  /** Something fits, and all of it is quarantined; this is the newest of it. */
  | { readonly ok: false; readonly reason: "quarantined"; readonly version: string }
  | { readonly ok: false; readonly reason: "no_match" }
  | { readonly ok: false; readonly reason: "bad_version" };

/**
 * The newest version in a range, or the newest stable one for an empty wish. Deprecated ones are chosen only where
 * nothing else fits, quarantined ones never.
 * @param ordered newest first
 */
export function pickVersion(ordered: readonly OrderedVersion[], requested: string): Picked {
  const range = requested === "" ? undefined : parseRange(requested);
  if (requested !== "" && range === undefined) return { ok: false, reason: "bad_version" };
  let deprecated: string | undefined;
  let quarantined: string | undefined;
  for (const { version, status, parsed } of ordered) {
    if (range === undefined ? parsed.pre.length > 0 : !inRange(range, parsed)) continue;
    if (status === "active") return { ok: true, version };
    if (status === "deprecated") deprecated ??= version;
    else quarantined ??= version;
  }
  if (deprecated !== undefined) return { ok: true, version: deprecated };
  if (quarantined !== undefined) return { ok: false, reason: "quarantined", version: quarantined };
  return { ok: false, reason: "no_match" };
}

/** The newest that may be named to somebody who asked for what is not there. */
export function newestUsable(ordered: readonly OrderedVersion[], count: number): readonly string[] {
  return ordered
    .filter(({ status }) => status !== "quarantined")
    .slice(0, count)
    .map(({ version }) => version);
}
