// What every door can ask about files and packages; a part of the service.
import type { PackageFile } from "../registry/package/listing.ts";
import type { Asked } from "../tenancy/types.ts";
import type { StoredFile } from "./files-ports.ts";
import type { StoredPackage } from "./files-packages.ts";
import { putFile, type FilesPorts } from "./files.ts";
import { putPackage } from "./files-packages.ts";

export interface FilesService {
  /** Read chunk by chunk; what it throws is thrown on, and nothing is kept. Scope tools:invoke or tools:write. */
  putFile(asked: Asked, content: AsyncIterable<Uint8Array>): Promise<StoredFile>;
  /** Scope tools:write. */
  putPackage(asked: Asked, files: readonly PackageFile[]): Promise<StoredPackage>;
}

export function filesService(ports: FilesPorts): FilesService {
  return {
    putFile: (asked, content) => putFile(ports, asked, content),
    putPackage: (asked, files) => putPackage(ports, asked, files),
  };
}
