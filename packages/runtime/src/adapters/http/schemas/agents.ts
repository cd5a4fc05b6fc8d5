// What requests about agents may say; a manifest is checked by the registry.
import { z } from "zod";
import { cursor, flag, listLimit, name, reason } from "./fields.ts";

const comment = reason.optional().describe("Kept with the change and in the audit");
const version = name.describe("An exact version");

export const publishAgentQuery = z.strictObject({
  dry_run: flag.describe("`true`: check everything and store nothing"),
  comment,
});

export const agentQuery = z.strictObject({
  version: name.optional().describe("An exact version; else the deployed one, else the one that was published last"),
});

export const agentDiffQuery = z.strictObject({
  from: name.describe("The version to start from"),
  to: name.describe("The version that is held against it"),
});

export const agentPageQuery = z.strictObject({ limit: listLimit, cursor: cursor.optional() });

export const agentVersionBody = z
  .strictObject({ version, comment })
  .meta({ id: "AgentVersionRequest", description: "The version that it is about" });

export const rollBackAgentBody = z
  .strictObject({ version: name.optional().describe("The version that was deployed before, without it"), comment })
  .meta({ id: "RollBackAgentRequest", description: "Where to go back to" });

export const deprecateAgentBody = z
  .strictObject({ version, deprecated: z.boolean().optional().describe("False takes the mark away"), comment })
  .meta({ id: "DeprecateAgentRequest", description: "A version that is to start no more sessions, or may again" });

export const archiveAgentBody = z
  .strictObject({ comment })
  .meta({ id: "ArchiveAgentRequest", description: "Why the agent goes, or comes back" });
