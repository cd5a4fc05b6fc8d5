// What requests about freezes may say.
import { z } from "zod";
import { name, reason } from "./fields.ts";

export const freezeBody = z.strictObject({ tool: name.optional(), tenant: name.optional(), reason: reason.optional() });

export const liftBody = z.strictObject({ tool: name.optional(), tenant: name.optional() });
