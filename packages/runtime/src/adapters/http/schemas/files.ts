// What requests about files and packages may say; which paths are taken is the registry's to decide.
import { limits } from "@signalbox/protocol";
import { z } from "zod";
import { fileModes, isRef } from "../../../registry/package/listing.ts";
import { packageBounds } from "../../../registry/package/bounds.ts";

const path = z.string().min(1).max(packageBounds.pathBytesMax);

const ref = z.string().refine(isRef, { error: "must be sha256: and 64 hexadecimal digits" });

export const packageBody = z.strictObject({
  files: z
    .array(z.strictObject({ path, mode: z.enum(fileModes), ref }))
    .min(1)
    .max(packageBounds.filesMax),
});

/** `files` of an invoke request. */
export const callFiles = z
  .array(z.strictObject({ path, content: z.string().optional(), ref: ref.optional() }))
  .max(limits.filesPerCallMax);

/** `package` of PUT /v1/tools. */
export const packageRef = ref;
