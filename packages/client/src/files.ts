// The client's part for content: files that calls name as their inputs, and packages that sandboxed tools are made of.
import { verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";

export interface StoredFile {
  /** `sha256:` and 64 hex digits: what a call, or a package, names the file by. */
  readonly digest: string;
  readonly bytes: number;
}

export interface PackageFile {
  /** Relative, with `/`. */
  readonly path: string;
  readonly mode: "0644" | "0755";
  /** The digest of a file that was put. */
  readonly ref: string;
}

export interface StoredPackage extends StoredFile {
  readonly already_there: boolean;
}

export interface FilesClient {
  /** Stores bytes, or text as UTF-8. The same content again is the same file. */
  put(content: Uint8Array<ArrayBuffer> | string, options?: AskOptions): Promise<StoredFile>;
  /**
   * Makes a package of files that were put.
   * @throws SignalboxApiError `invalid_input` with `details.missing`: the refs to put first
   */
  putPackage(files: readonly PackageFile[], options?: AskOptions): Promise<StoredPackage>;
}

export function files(ask: Ask): FilesClient {
  const { put } = verbsOf(ask);
  return {
    async put(content, how) {
      const bodyBytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      const contentType = "application/octet-stream";
      const answer = await ask({ method: "PUT", path: "/v1/files", bodyBytes, contentType, repeatable: true }, how);
      return answer.body as StoredFile;
    },
    putPackage: async (list, how) => (await put("/v1/packages", { files: list }, how)) as StoredPackage,
  };
}
