// Input files: put once, named by digest, and turned into the checked list that a worker mounts for a call.
import { canonicalJson, isWellFormed, limits, SignalboxError, utf8Bytes, type FileRef } from "@signalbox/protocol";
import { packageBounds } from "../registry/package/bounds.ts";
import { isRef } from "../registry/package/listing.ts";
import { pathProblems } from "../registry/package/paths.ts";
import type { Asked } from "../tenancy/types.ts";
import { StoreUnavailable, type ContentStore, type StoredFile, type StoreRefusal } from "./files-ports.ts";
import { filesLimits } from "./files-limits.ts";
import type { Hash } from "./ports.ts";
import { hasScope, type Refusals } from "./refusals.ts";

export interface FilesPorts {
  readonly store: ContentStore;
  readonly refusals: Refusals;
  readonly hash: Hash;
}

/** One entry of an invoke request's `files`, its shape checked: exactly one of the two says what is in it. */
export interface AskedFile {
  /** Below `/workspace`. */
  readonly path: string;
  /** Text, stored as UTF-8. */
  readonly content?: string;
  /** `sha256:…` of a file that this tenant has put. */
  readonly ref?: string;
}

/**
 * Stores one file. Scope tools:invoke, for inputs, or tools:write, for packages.
 * @throws SignalboxError forbidden, payload_too_large, quota_exceeded, rate_limited
 */
export async function putFile(
  ports: FilesPorts,
  asked: Asked,
  content: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const { principal, requestId } = asked;
  if (!hasScope(principal, "tools:write")) await ports.refusals.requireScope(principal, "tools:invoke", requestId);
  const outcome = await kept(ports.store.putFile(principal.tenant, content));
  if (!outcome.ok) throw refusalOf(outcome);
  return outcome.file;
}

/** A file of a call as far as the request tells: its digest is known, its content may have yet to be stored. */
export interface CheckedFile {
  readonly path: string;
  readonly ref: string;
  /** Set when the request brings it along. */
  readonly content?: string;
}

/**
 * Looks over an invoke request's `files`; stores and reads nothing.
 * @throws SignalboxError invalid_input, with every fault at its pointer into the body
 */
export function checkFiles(files: readonly AskedFile[], hash: Hash): readonly CheckedFile[] {
  if (files.length > limits.filesPerCallMax)
    throw atFault([{ index: undefined, part: "", message: `has more than ${limits.filesPerCallMax} items` }]);
  const faults: FileFault[] = pathProblems(files.map(({ path }) => path)).map((one) => ({ ...one, part: "path" }));
  const checked = files.map((file, index): CheckedFile => {
    const fault = contentFault(file);
    if (fault !== undefined) faults.push({ index, ...fault });
    const { path, content, ref } = file;
    if (content === undefined) return { path, ref: ref ?? "" };
    return { path, ref: fault === undefined ? `sha256:${hash(content)}` : "", content };
  });
  if (faults.length > 0) throw atFault(faults);
  return checked;
}

function contentFault({ content, ref }: AskedFile): Omit<FileFault, "index"> | undefined {
  if ((content === undefined) === (ref === undefined)) return { part: "", message: "needs one of content and ref" };
  if (ref !== undefined)
    return isRef(ref) ? undefined : { part: "ref", message: "must be sha256: and 64 hexadecimal digits" };
  if (content === undefined) return undefined;
  if (!isWellFormed(content))
    return { part: "content", message: "holds half of a surrogate pair; put bytes with PUT /v1/files" };
  const bytesMax = packageBounds.fileBytesMax;
  return utf8Bytes(content) > bytesMax ? { part: "content", message: `is longer than ${bytesMax} bytes` } : undefined;
}

/**
 * What goes into a call's fingerprint beside tool, version and input: the same files in any order are the same call.
 * Undefined where there are none, so that fingerprints of calls without files stay what they were.
 */
export function filesText(files: readonly CheckedFile[]): string | undefined {
  if (files.length === 0) return undefined;
  return canonicalJson(Object.fromEntries(files.map(({ path, ref }) => [path, ref])));
}

/**
 * Stores what the request brought along, and finds what it names; the list is in the request's order.
 * Nothing is undone when the call is refused later: a file that no call names is removed after a while.
 * @throws SignalboxError invalid_input for what this tenant has not put, payload_too_large, quota_exceeded, rate_limited
 */
export async function resolveFiles(
  ports: Pick<FilesPorts, "store">,
  tenant: string,
  files: readonly CheckedFile[],
): Promise<readonly FileRef[]> {
  const found: FileRef[] = [];
  const missing: FileFault[] = [];
  let sum = 0;
  for (const [index, { path, ref, content }] of files.entries()) {
    const bytes = content === undefined ? await kept(ports.store.useFile(tenant, ref)) : utf8Bytes(content);
    // Whether another tenant has it makes no difference, in the answer or in the time it takes.
    if (bytes === undefined)
      missing.push({ index, part: "ref", message: "names a file that this tenant has not put; put it first" });
    sum += bytes ?? 0;
    if (sum > filesLimits.callBytesMax) throw tooMuch(filesLimits.callBytesMax);
    found.push({ path, digest: ref, bytes: bytes ?? 0 });
  }
  if (missing.length > 0) throw atFault(missing);
  for (const { content } of files) {
    if (content === undefined) continue;
    const outcome = await kept(ports.store.putFile(tenant, [new TextEncoder().encode(content)]));
    if (!outcome.ok) throw refusalOf(outcome);
  }
  return found;
}

interface FileFault {
  readonly index: number | undefined;
  readonly part: "" | "path" | "content" | "ref";
  readonly message: string;
}

function atFault(faults: readonly FileFault[]): SignalboxError {
  const fields = faults.slice(0, filesLimits.faultsMax).map(({ index, part, message }) => ({
    pointer: ["/files", ...(index === undefined ? [] : [index]), ...(part === "" ? [] : [part])].join("/"),
    keyword: "format",
    message,
  }));
  const [first] = fields;
  const more = faults.length - fields.length;
  return new SignalboxError("invalid_input", `field ${first?.pointer ?? ""} ${first?.message ?? ""}`, {
    details: more === 0 ? { fields } : { fields, more_faults: more },
  });
}

function tooMuch(bytes: number): SignalboxError {
  return new SignalboxError("payload_too_large", `the files of the call have more than ${bytes} bytes together`, {
    details: { limit: "files_bytes_max", limit_bytes: bytes },
  });
}

/** What the store would not take, in the words of the error table. */
export function refusalOf(refusal: StoreRefusal): SignalboxError {
  switch (refusal.reason) {
    case "too_large":
      return new SignalboxError("payload_too_large", `it is larger than ${refusal.limitBytes} bytes`, {
        details: { limit: "stored_bytes_max", limit_bytes: refusal.limitBytes },
      });
    case "quota":
      return new SignalboxError(
        "quota_exceeded",
        "this tenant has stored as much as it may; what nobody uses is removed after some days",
        { details: { limit: "tenant_stored_bytes_max", limit_bytes: refusal.limitBytes } },
      );
    case "busy":
      return new SignalboxError("rate_limited", `this tenant is storing ${refusal.limit} things at once; try again`, {
        details: { retry_after_s: 1 },
      });
  }
}

/** A disk that fails is nobody's mistake, and a repeat may help. */
export async function kept<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    throw new SignalboxError(
      "ledger_unavailable",
      "the store of files cannot be used at the moment; nothing was stored",
      {
        details: { retry_after_s: 1 },
        cause: error,
      },
    );
  }
}
