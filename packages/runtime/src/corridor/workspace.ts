// A project's workspace: a table of paths over the content store, read, listed, and changed under a guard.
import type { GuardedWrite, Ledger } from "../ledger/port.ts";
import type { WorkspaceFile, WorkspacePage, WorkspacePlace } from "../ledger/workspace.ts";
import { pathProblem } from "../registry/package/paths.ts";
import type { ContentReader, ContentStore } from "./files-ports.ts";

const KiB = 1024;

export const workspaceLimits = {
  /** Of one project; guards the count inside every commit that adds one. */
  workspaceFilesMax: 10_000,
  /** A file comes and goes as text in JSON, whose escapes take up to six bytes for one. */
  workspaceFileBytesMax: 256 * KiB,
  workspaceListItemsMax: 1_000,
  workspaceListItemsDefault: 100,
  /** Of the paths in one page together: long ones make the page shorter. */
  workspaceListPathBytesMax: 256 * KiB,
} as const;

export interface WorkspacePorts {
  readonly ledger: Pick<Ledger, "commit" | "workspaceFile" | "workspaceFiles">;
  readonly store: Pick<ContentStore, "putFile"> & ContentReader;
  /** ms since 1970. */
  readonly now: () => number;
}

/** Whose workspace, and for which call: as the runtime knows the call, never as its arguments say. */
export interface WorkspaceCall {
  readonly tenant: string;
  readonly project: string;
  readonly callId: string;
}

export type WorkspaceFault =
  | "invalid_path"
  | "not_found"
  | "too_large"
  /** The file is not what the caller took it for. */
  | "conflict"
  /** The path would be a file and a folder. */
  | "file_and_folder"
  | "too_many_files"
  | "quota_exceeded"
  | "busy"
  | "content_damaged";

/** What a tool answers in place of a result. The message repeats nothing of the arguments: it may stand in records. */
export class WorkspaceRefused extends Error {
  override readonly name = "WorkspaceRefused";
  readonly fault: WorkspaceFault;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(fault: WorkspaceFault, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.fault = fault;
    this.details = details;
  }
}

export interface WorkspaceWrite {
  readonly path: string;
  /** Null takes the file away. */
  readonly content: Uint8Array | null;
  /** What the path must name before: a digest, or null for no file. Undefined: whatever it is. */
  readonly ifDigest?: string | null;
}

/** @throws WorkspaceRefused, and what the ports reject with */
export async function readWorkspace(
  { ledger, store }: WorkspacePorts,
  call: WorkspaceCall,
  path: string,
): Promise<{ readonly file: WorkspaceFile; readonly content: Uint8Array }> {
  const place = placeOf(call, path);
  let file = await ledger.workspaceFile(place);
  // A row and its content are two looks: a write in between may have let the first content go.
  for (let look = 0; file !== undefined && look < 2; look += 1) {
    const content = await store.readFile(call.tenant, file.digest);
    if (content !== undefined) return { file, content };
    file = await ledger.workspaceFile(place);
  }
  if (file === undefined)
    throw new WorkspaceRefused(
      "not_found",
      "there is no such file in the project's workspace; fs.list tells what there is",
    );
  throw new WorkspaceRefused(
    "content_damaged",
    "the content of this file is damaged or gone from the store; write it again",
  );
}

/** @throws what the ledger rejects with */
export async function listWorkspace(
  { ledger }: WorkspacePorts,
  { tenant, project }: WorkspaceCall,
  { prefix, after, limit }: { readonly prefix: string; readonly after: string; readonly limit: number },
): Promise<WorkspacePage> {
  const { items, more } = await ledger.workspaceFiles({ tenant, project, prefix, after }, limit);
  let pathBytes = 0;
  const over = items.findIndex(
    ({ path }) => (pathBytes += new TextEncoder().encode(path).length) > workspaceLimits.workspaceListPathBytesMax,
  );
  return over === -1 ? { items, more } : { items: items.slice(0, over), more: true };
}

/**
 * Content first, durable in the store, then the path in one unit with its guards: whoever reads sees the old file or the new one.
 * The same call again changes nothing more.
 * @param stopped asked once more before the commit; throws when nobody wants it any longer
 * @returns what the path names now; null: nothing. @throws WorkspaceRefused, and what the ports reject with
 */
export async function writeWorkspace(
  ports: WorkspacePorts,
  call: WorkspaceCall,
  { path, content, ifDigest }: WorkspaceWrite,
  stopped: () => void,
): Promise<WorkspaceFile | null> {
  const place = placeOf(call, path);
  const expected: GuardedWrite[] =
    ifDigest === undefined ? [] : [{ op: "expect_workspace_file", place, digest: ifDigest, callId: call.callId }];
  if (content === null) return removeFile(ports, place, expected, stopped);
  const { ref, bytes } = await kept(ports, call.tenant, content);
  const row: WorkspaceFile = { ...place, digest: ref, bytes, updatedAt: ports.now(), callId: call.callId };
  const { workspaceFilesMax: filesMax } = workspaceLimits;
  const writes: GuardedWrite[] = [
    ...expected,
    { op: "expect_workspace_room", place },
    { op: "put_workspace_file", row, filesMax },
  ];
  stopped();
  const outcome = await ports.ledger.commit({ writes });
  if (outcome.applied) return row;
  switch (writes[outcome.write]?.op) {
    case "expect_workspace_file":
      throw await conflict(ports, place);
    case "expect_workspace_room":
      throw new WorkspaceRefused("file_and_folder", "the path, or one of its folders, would be a file and a folder");
    default:
      throw new WorkspaceRefused(
        "too_many_files",
        `the project's workspace holds ${filesMax} files already; delete some`,
        { limit: filesMax },
      );
  }
}

async function removeFile(
  ports: WorkspacePorts,
  place: WorkspacePlace,
  expected: readonly GuardedWrite[],
  stopped: () => void,
): Promise<null> {
  stopped();
  const outcome = await ports.ledger.commit({ writes: [...expected, { op: "remove_workspace_file", place }] });
  // One that is gone already is what was asked for: a second attempt of the same call finds it so.
  if (outcome.applied || (await ports.ledger.workspaceFile(place)) === undefined) return null;
  throw await conflict(ports, place);
}

async function conflict({ ledger }: WorkspacePorts, place: WorkspacePlace): Promise<WorkspaceRefused> {
  const digest = (await ledger.workspaceFile(place))?.digest ?? null;
  return new WorkspaceRefused("conflict", "the file is not what if_digest says; read it again and decide anew", {
    digest,
  });
}

async function kept(
  { store }: WorkspacePorts,
  tenant: string,
  content: Uint8Array,
): Promise<{ readonly ref: string; readonly bytes: number }> {
  const { workspaceFileBytesMax: bytesMax } = workspaceLimits;
  if (content.byteLength > bytesMax)
    throw new WorkspaceRefused("too_large", `a file of a workspace has ${bytesMax} bytes at most`, {
      limit_bytes: bytesMax,
    });
  const outcome = await store.putFile(tenant, [content]);
  if (outcome.ok) return outcome.file;
  if (outcome.reason === "busy") throw new WorkspaceRefused("busy", "too many writes at once; try again");
  throw new WorkspaceRefused("quota_exceeded", "the tenant's store is full", { limit_bytes: outcome.limitBytes });
}

function placeOf({ tenant, project }: WorkspaceCall, path: string): WorkspacePlace {
  const problem = pathProblem(path);
  if (problem !== undefined) throw new WorkspaceRefused("invalid_path", `the path ${problem}`);
  return { tenant, project, path };
}
