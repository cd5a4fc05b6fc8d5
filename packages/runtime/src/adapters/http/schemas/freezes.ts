// What requests about freezes may say.
import { z } from "zod";
import { name, reason } from "./fields.ts";

const tool = name.optional().describe("One tool; all of them, without it");
const tenant = name.optional().describe("For operators: one tenant; all of them, without it");

export const freezeBody = z
  .strictObject({ tool, tenant, reason: reason.optional().describe("For people and the audit") })
  .meta({ id: "NewFreeze", description: "What is to be stopped" });

export const liftBody = z.strictObject({ tool, tenant }).meta({ id: "LiftRequest", description: "What is to go on" });
