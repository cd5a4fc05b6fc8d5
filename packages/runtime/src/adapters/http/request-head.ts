// The part of a request's head that routes read themselves; over gRPC its metadata stands here.
import type { IncomingMessage } from "node:http";

export type RequestHead = Pick<IncomingMessage, "headers" | "headersDistinct">;
