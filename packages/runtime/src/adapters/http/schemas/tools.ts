// What requests about tools may say; a manifest itself is checked by the registry.
import { z } from "zod";
import { name } from "./fields.ts";

export const toolQuery = z.strictObject({ version: name.optional() });

export const registerQuery = z.strictObject({
  activate: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional(),
});

export const activateBody = z.strictObject({ version: name });
