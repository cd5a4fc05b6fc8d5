// Packages: put from files that are there already, and checked against the executor before a version pins one.
import { SignalboxError } from "@signalbox/protocol";
import type { Problem } from "../document/problems.ts";
import { packageProblem } from "../registry/package/entry.ts";
import { isRef, listingProblems, type PackageFile } from "../registry/package/listing.ts";
import type { Executor } from "../registry/types.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { filesLimits } from "./files-limits.ts";
import type { ContentStore, PackageOutcome } from "./files-ports.ts";
import { kept, refusalOf, type FilesPorts } from "./files.ts";

export type StoredPackage = Omit<Extract<PackageOutcome, { readonly ok: true }>, "ok">;

/**
 * Makes a package of files that this tenant has put. Scope tools:write. Doing it again changes nothing.
 * @throws SignalboxError invalid_input: with `details.problems`, or with `details.missing`, the refs to put first;
 *   payload_too_large, quota_exceeded, rate_limited
 */
export async function putPackage(
  ports: FilesPorts,
  asked: Asked,
  files: readonly PackageFile[],
): Promise<StoredPackage> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "tools:write", requestId);
  const problems = listingProblems(files);
  if (problems.length > 0) throw refused("the package cannot be stored", problems);
  const outcome = await kept(ports.store.putPackage(principal.tenant, files));
  if (outcome.ok) {
    const { ref, bytes, alreadyThere } = outcome;
    return { ref, bytes, alreadyThere };
  }
  if (outcome.reason !== "missing") throw refusalOf(outcome);
  const missing = outcome.refs.slice(0, filesLimits.missingNamedMax);
  throw new SignalboxError("invalid_input", `${outcome.refs.length} of its files have yet to be put`, {
    details: { reason: "files_missing", missing },
  });
}

/**
 * The digest that a tool version is published with; null where it needs no package. Asked before the version is stored.
 * @param ref as the request has it; undefined: none was sent
 * @throws SignalboxError invalid_input, with `details.problems`
 */
export async function packageFor(
  store: Pick<ContentStore, "usePackage">,
  tenant: string,
  executor: Executor,
  ref: string | undefined,
): Promise<string | null> {
  // The platform's own tools may start a guest that comes with the runtime.
  if (ref === undefined && tenant === platformTenant) return null;
  const files = ref === undefined ? null : await stored(store, tenant, ref);
  const problem = packageProblem(executor, files);
  if (problem !== undefined) throw refused("the manifest and its package do not fit", [problem]);
  return ref ?? null;
}

async function stored(
  store: Pick<ContentStore, "usePackage">,
  tenant: string,
  ref: string,
): Promise<readonly PackageFile[]> {
  const files = isRef(ref) ? await kept(store.usePackage(tenant, ref)) : undefined;
  if (files !== undefined) return files;
  throw refused("there is no such package", [
    { path: "package", message: "names a package that this tenant has not put", hint: "PUT /v1/packages first" },
  ]);
}

function refused(what: string, problems: readonly Problem[]): SignalboxError {
  const [first] = problems;
  const place = first === undefined || first.path === "" ? "" : `${first.path} `;
  return new SignalboxError("invalid_input", `${what}: ${place}${first?.message ?? ""}`, { details: { problems } });
}
