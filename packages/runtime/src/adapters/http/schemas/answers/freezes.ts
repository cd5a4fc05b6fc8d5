// What answers tell of freezes.
import { z } from "zod";
import { at, pageOf } from "./common.ts";

export const freeze = z
  .strictObject({
    tenant: z.string().describe("`platform`: of every tenant"),
    tool: z.string().describe("Empty: all tools"),
    reason: z.string(),
    at,
    by: z.string(),
  })
  .meta({ id: "Freeze", description: "Dispatch that is stopped" });

export const freezePage = pageOf("FreezePage", freeze);

export const lifted = z
  .strictObject({ tool: z.string(), lifted: z.boolean().describe("False: there was nothing to lift") })
  .meta({ id: "LiftedFreeze", description: "What lifting came to" });
