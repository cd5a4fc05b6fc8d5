// What requests about files and packages may say; which paths are taken is the registry's to decide.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { fileModes, isRef } from "../../../registry/package/listing.ts";
import { packageBounds } from "../../../registry/package/bounds.ts";
import { toldAs } from "./told-as.ts";

const path = z.string().min(1).max(packageBounds.pathBytesMax).describe("Relative, with `/` between its parts");

const ref = z
  .string()
  .refine(isRef, { error: "must be sha256: and 64 hexadecimal digits" })
  .register(toldAs, { schema: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" } });

const packageFile = z
  .strictObject({
    path,
    mode: z.enum(fileModes).describe("`0755`: it may be executed"),
    ref: ref.describe("Digest of a stored file"),
  })
  .meta({ id: "PackageFile", description: "One file of a package" });

export const packageBody = z
  .strictObject({ files: z.array(packageFile).min(1).max(packageBounds.filesMax).describe("All of its files") })
  .meta({ id: "PackageRequest", description: "A folder of code, by the digests of its files" });

/** `files` of an invoke request. */
export const callFiles = z
  .array(
    z
      .strictObject({
        path,
        content: z.string().optional().describe("The file itself, as text; or `ref`"),
        ref: ref.optional().describe("Digest of a stored file; or `content`"),
      })
      .meta({ id: "CallFile", description: "One input file of a call" }),
  )
  .max(limits.filesPerCallMax);

/** `package` of PUT /v1/tools. */
export const packageRef = ref;
