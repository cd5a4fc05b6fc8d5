// The handlers of fs.read, fs.write and fs.list: from arguments to the workspace of the call's own project, and back.
import { isWellFormed, limits, utf8Bytes } from "@signalbox/protocol";
import { ToolError, type ToolContext, type Worker } from "@signalbox/worker";
import { StoreUnavailable } from "../../corridor/files-ports.ts";
import {
  listWorkspace,
  readWorkspace,
  workspaceLimits,
  WorkspaceRefused,
  writeWorkspace,
  type WorkspaceCall,
  type WorkspacePorts,
} from "../../corridor/workspace.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";

type Encoding = "utf8" | "base64";

interface ReadArgs {
  readonly path: string;
  readonly encoding?: Encoding;
  readonly offset_bytes?: number;
  readonly length_bytes?: number;
}
interface WriteArgs {
  readonly path: string;
  readonly content: string | null;
  readonly encoding?: Encoding;
  readonly if_digest?: string | null;
}
interface ListArgs {
  readonly prefix?: string;
  readonly after?: string;
  readonly limit?: number;
}

/** Each is a file that is written and synced; fewer than the store lets one tenant write at once. */
const writesAtOnce = 4;
/** For what stands beside the content in a result. */
const resultFrameBytes = 8 * 1024;

export function addWorkspaceTools(worker: Worker, ports: WorkspacePorts): void {
  const version = "1.0.0";
  worker
    .tool<ReadArgs>("fs.read", { version, sideEffectClass: "read_only" }, (args, ctx) =>
      told(() => read(ports, args, ctx)),
    )
    .tool<ListArgs>("fs.list", { version, sideEffectClass: "read_only" }, (args, ctx) =>
      told(() => list(ports, args, ctx)),
    )
    .tool<WriteArgs>(
      "fs.write",
      { version, sideEffectClass: "idempotent_write", maxConcurrency: writesAtOnce },
      (args, ctx) => told(() => write(ports, args, ctx)),
    );
}

/** Of the message that the runtime itself has sent. */
function callOf({ invoke }: ToolContext): WorkspaceCall {
  const { tenant, project, callId } = invoke;
  return { tenant, project, callId };
}

async function read(ports: WorkspacePorts, args: ReadArgs, ctx: ToolContext): Promise<unknown> {
  const { path, encoding = "utf8", offset_bytes: offset = 0, length_bytes: length } = args;
  const { file, content } = await readWorkspace(ports, callOf(ctx), path);
  const part = content.subarray(offset, length === undefined ? undefined : offset + length);
  const text = encoding === "base64" ? Buffer.from(part).toString("base64") : textOf(part);
  const { bytes, digest } = file;
  return { path, content: text, encoding, offset_bytes: offset, length_bytes: part.byteLength, bytes, digest };
}

/** @throws ToolError for what is no text, or too long as JSON text: control characters take six bytes there */
function textOf(part: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(part);
  } catch {
    throw new ToolError("not_text", "this part of the file is not UTF-8 text; read it with encoding base64");
  }
  if (utf8Bytes(JSON.stringify(text)) > limits.resultBytesMax - resultFrameBytes)
    throw new ToolError(
      "too_large",
      "as JSON text this is longer than a result may be; read it with encoding base64, or in parts",
    );
  return text;
}

async function write(ports: WorkspacePorts, args: WriteArgs, ctx: ToolContext): Promise<unknown> {
  const { path, content, encoding = "utf8", if_digest: ifDigest } = args;
  const file = await writeWorkspace(
    ports,
    callOf(ctx),
    {
      path,
      content: content === null ? null : bytesOf(content, encoding),
      ...(ifDigest === undefined ? {} : { ifDigest }),
    },
    () => ctx.signal.throwIfAborted(),
  );
  return { path, digest: file?.digest ?? null, bytes: file?.bytes ?? 0 };
}

function bytesOf(content: string, encoding: Encoding): Uint8Array {
  if (encoding === "utf8") {
    if (!isWellFormed(content)) throw new ToolError("invalid_content", "the content holds half of a surrogate pair");
    return Buffer.from(content, "utf8");
  }
  const decoded = Buffer.from(content, "base64");
  // The decoder passes over what it does not know: only what comes back the same was base64.
  if (decoded.toString("base64") !== content)
    throw new ToolError("invalid_content", "the content is not base64 with its padding (RFC 4648, section 4)");
  return decoded;
}

async function list(ports: WorkspacePorts, args: ListArgs, ctx: ToolContext): Promise<unknown> {
  const { prefix = "", after = "", limit = workspaceLimits.workspaceListItemsDefault } = args;
  const { items, more } = await listWorkspace(ports, callOf(ctx), { prefix, after, limit });
  return {
    items: items.map(({ path, bytes, digest, updatedAt, callId }) => ({
      path,
      bytes,
      digest,
      updated_at: new Date(updatedAt).toISOString(),
      execution_id: callId,
    })),
    next_after: more ? (items.at(-1)?.path ?? null) : null,
  };
}

async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WorkspaceRefused)
      throw new ToolError(error.fault, error.message, { retryable: error.fault === "busy", details: error.details });
    if (error instanceof LedgerUnavailable || error instanceof StoreUnavailable)
      throw new ToolError("unavailable", "the workspace cannot be reached now; try again", {
        retryable: true,
        cause: error,
      });
    throw error;
  }
}
