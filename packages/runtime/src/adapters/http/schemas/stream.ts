// What a request to follow a call may say: behind which event it goes on.
import type { RequestHead } from "../request-head.ts";
import { z } from "zod";
import { faultAt } from "./check.ts";
import { eventSeq } from "./fields.ts";

const seqText = /^[0-9]{1,15}$/;

export const streamQuery = z.strictObject({
  after_seq: eventSeq.optional().describe("Events behind this number; 0: from the beginning"),
});

export const streamHeaders = {
  "Last-Event-ID": eventSeq.describe("The id of the last event that the reader has; goes before `after_seq`"),
};

/** What a browser's EventSource sends when it comes back. */
export function lastEventId(message: RequestHead): number | undefined {
  const sent = message.headers["last-event-id"];
  if (sent === undefined || sent === "") return undefined;
  if (typeof sent !== "string" || !seqText.test(sent))
    throw faultAt("header", "/Last-Event-ID", "pattern", "must be the id of an event of this stream");
  return Number(sent);
}
