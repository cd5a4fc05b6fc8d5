// What answers tell of stored files and packages.
import { z } from "zod";
import { count } from "./common.ts";

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const storedFile = z
  .strictObject({ digest: digest.describe("What a call, or a package, names it by"), bytes: count })
  .meta({ id: "StoredFile", description: "Content that is stored under its digest" });

export const storedPackage = z
  .strictObject({
    digest: digest.describe("What a tool version names it by"),
    bytes: count.describe("All files together"),
    already_there: z.boolean(),
  })
  .meta({ id: "StoredPackage", description: "A folder of code that is stored under its digest" });
