// What the events of a call's stream hold, by the event's name.
import { z } from "zod";
import { at, count } from "./common.ts";
import { execution } from "./executions.ts";

/** @param id of the event's schema in the document */
const event = (id: string, description: string, data: z.ZodType): z.ZodType =>
  z.strictObject({ seq: count.describe("The event's id"), ts: at, data }).meta({ id, description });

const said = z.strictObject({
  text: z.string(),
  missed_chunks: count.optional().describe("Chunks before it that never came to the runtime"),
});

export const eventStream = z
  .string()
  .describe("Server-Sent Events; the data of each is one line of JSON, told under `x-events`");

export const streamEvents: Readonly<Record<string, z.ZodType>> = {
  start: event(
    "StreamStart",
    "A worker has the call; again for every attempt",
    z.strictObject({ sandbox: z.string().nullable(), worker: z.string().nullable(), attempt: count }),
  ),
  stdout: event("StreamStdout", "The tool wrote to its standard output", said),
  stderr: event("StreamStderr", "The tool wrote to its standard error", said),
  partial: event("StreamPartial", "A part of the result, ahead of it", said),
  log: event("StreamLog", "A line of the tool's log", said),
  progress: event(
    "StreamProgress",
    "How far the tool is",
    z.strictObject({ percent: z.number(), message: z.string() }),
  ),
  emit: event(
    "StreamEmit",
    "An event of the tool's own",
    z.strictObject({
      type: z.string(),
      payload: z.unknown().optional(),
      malformed: z.literal(true).optional().describe("The payload was no JSON"),
    }),
  ),
  approval: event(
    "StreamApproval",
    "People are asked",
    z.strictObject({ approval_id: z.string(), status: z.string() }),
  ),
  gap: z
    .strictObject({ from: count, to: count })
    .meta({ id: "StreamGap", description: "Numbers that this reader does not get" }),
  done: event("StreamDone", "The end, and the last event: the call succeeded", execution),
  error: event("StreamError", "The end, and the last event: the record says how", execution),
};
