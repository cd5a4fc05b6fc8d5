// The routes that tell of the API itself.
import { createHash } from "node:crypto";
import { z } from "zod";
import { jsonType } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { openApiText } from "../openapi/document.ts";
import type { RequestHead } from "../request-head.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { OpenRoute, Route } from "./route.ts";

const operation: Operation = {
  id: "getOpenApi",
  tag: "operations",
  summary: "Read this document",
  description: "The same bytes as long as the runtime's version is the same.",
  answers: {
    200: json("The document", z.record(z.string(), z.unknown())),
    304: { description: "With `If-None-Match`: it is what the asker has" },
  },
};

/**
 * Open off loopback too: the document is the same for every installation, holds nothing of any tenant, and whoever
 * wants a key has to know what it is for.
 * @param others all routes but these
 */
export function documentRoutes(others: readonly Route[]): readonly OpenRoute[] {
  let document: Answer | undefined;
  const routes: readonly OpenRoute[] = [
    {
      method: "GET",
      path: "/openapi.json",
      scope: null,
      operation,
      answer: async (_, message) => {
        document ??= lasting(openApiText([...others, ...routes]), jsonType);
        return unlessKnown(document, message);
      },
    },
  ];
  return routes;
}

/** The same for everybody until the next version: may be kept, and is asked for by its name before it is used. */
export function lasting(text: string, contentType: string, headers: Answer["headers"] = {}): Answer {
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  return { status: 200, text, contentType, headers: { ...headers, "cache-control": "no-cache", etag } };
}

/** 304 for who has this very answer. */
export function unlessKnown(answer: Answer, message: RequestHead): Answer {
  const etag = answer.headers?.["etag"];
  const known = message.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (etag === undefined || known?.some((one) => one === etag || one === "*") !== true) return answer;
  return { ...answer, status: 304, text: "" };
}
