// What an operation says of itself: its name, its words and its schemas, from which the API's document is made.
import type { ErrorCode } from "@signalbox/protocol";
import type { z } from "zod";

/** The chapters of the document, in its order. */
export const tags = {
  executions: "Calls: make one, read it, follow it, stop it, say how it ended",
  approvals: "Questions put to people about calls, and their votes",
  tools: "The registry: tools, their versions, and which of them runs",
  agents: "Agents: their versions, which of them runs, and what was done to them",
  sessions: "Sessions: start one, talk to it, stop it, follow it, look at what it did",
  files: "Content for boxes: input files and packages of code",
  policies: "Rules that allow, deny, or ask people, and what they would say",
  brakes: "Stop dispatch at once, and go on",
  access: "Keys, grants and projects: who may ask for what",
  tenants: "The boundary between customers: made, weighed and suspended by the operator",
  limits: "How much may be asked, and what was used",
  webhooks: "Who is told of approvals, and whether it arrived",
  operations: "Audit, workers and the state of the runtime",
} as const;
export type Tag = keyof typeof tags;

/** Headers that answers of some operations carry; every answer has `X-Request-Id`. */
export type AnswerHeader = "Location" | "Idempotency-Replayed" | "RateLimit-Limit" | "RateLimit-Remaining" | "RateLimit-Reset";

/** How the tightest rate stands that a call has passed, where one applies. */
export const rateHeaders = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** One status of an operation that is no error. */
export interface AnswerDoc {
  /** When it comes, and what it holds; one sentence without a full stop. */
  readonly description: string;
  /** By media type; absent: an empty body. */
  readonly content?: Readonly<Record<string, z.ZodType>>;
  /** The data of a stream's events, by the event's name. */
  readonly events?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: readonly AnswerHeader[];
}

export interface Operation {
  /** lowerCamel and unique: the name of the method in generated clients. */
  readonly id: string;
  readonly tag: Tag;
  /** One sentence without a full stop. */
  readonly summary: string;
  /** What the summary cannot hold; Markdown. */
  readonly description?: string;
  /** The very schema that `handle` checks. Absent: the door refuses every parameter. */
  readonly query?: z.ZodObject;
  /** One schema per parameter of the path. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  /** Request headers that the route reads itself, by the name people write. */
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  /** The very schema that `handle` checks; absent for a route that takes no body, or reads it as a stream of bytes. */
  readonly bodySchema?: z.ZodType;
  /** A body that the schema takes, for people to start from. */
  readonly example?: unknown;
  /** Statuses that are no errors. */
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  /** Codes of the error table that this operation can answer with, beside those that any operation of its kind can. */
  readonly errors?: readonly ErrorCode[];
  /** Of a POST: a second one has no second effect. Of other methods HTTP says so itself. */
  readonly repeatable?: true;
  /** True where a call that ended in error is told as one, with its record's id, status and measures. */
  readonly tellsFailedCalls?: true;
}

/** A status with a JSON body. */
export function json(description: string, schema: z.ZodType, ...headers: readonly AnswerHeader[]): AnswerDoc {
  const content = { "application/json": schema };
  return headers.length === 0 ? { description, content } : { description, content, headers };
}
