// What the ledger keeps of a workspace: which path of a project names which content. The content itself lies in the store.

export interface WorkspaceFile {
  readonly tenant: string;
  readonly project: string;
  /** As `pathProblem` takes it; one that differs by case is another file. */
  readonly path: string;
  /** `sha256:` and 64 hex digits. */
  readonly digest: string;
  readonly bytes: number;
  /** ms since 1970. */
  readonly updatedAt: number;
  /** The call that put it. */
  readonly callId: string;
}

export type WorkspacePlace = Pick<WorkspaceFile, "tenant" | "project" | "path">;

export interface WorkspaceQuery {
  readonly tenant: string;
  readonly project: string;
  /** How paths begin, letter for letter; empty takes all. */
  readonly prefix: string;
  /** Goes on behind this path; empty starts at the first. */
  readonly after: string;
}

export interface WorkspacePage {
  /** By path, in the order of its UTF-8 bytes. */
  readonly items: readonly WorkspaceFile[];
  /** There are further ones behind the last. */
  readonly more: boolean;
}
