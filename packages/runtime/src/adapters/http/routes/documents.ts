// The routes that tell of the API itself: its document, and the page on which people read it.
import { createHash } from "node:crypto";
import { z } from "zod";
import { jsonType } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { pageCss, pageHeaders, pageHtml, pageScript } from "../docs/page.ts";
import { readSwaggerFile } from "../docs/swagger.ts";
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

const html = "text/html; charset=utf-8";
const css = "text/css; charset=utf-8";
const script = "text/javascript; charset=utf-8";

const pageRoutes: readonly OpenRoute[] = [
  constant("/docs", null, async () => lasting(pageHtml, html, pageHeaders)),
  constant("/docs/", null, async () => ({ status: 308, text: "", headers: { location: "../docs" } })),
  constant("/docs/page.css", null, async () => lasting(pageCss, css)),
  constant("/docs/page.js", null, async () => lasting(pageScript, script)),
  constant("/docs/swagger-ui.css", null, async () => lasting(await readSwaggerFile("swagger-ui.css"), css)),
  constant("/docs/swagger-ui-bundle.js", null, async () =>
    lasting(await readSwaggerFile("swagger-ui-bundle.js"), script),
  ),
];

/**
 * Open off loopback too: what they tell is the same for every installation, holds nothing of any tenant, and whoever
 * wants a key has to know what it is for.
 * @param others all routes but these
 */
export function documentRoutes(others: readonly Route[]): readonly OpenRoute[] {
  const document = constant("/openapi.json", operation, async () =>
    lasting(openApiText([...others, ...routes]), jsonType),
  );
  const routes: readonly OpenRoute[] = [document, ...pageRoutes];
  return routes;
}

/** Made when it is first asked for, and kept. */
function constant(path: string, told: Operation | null, make: () => Promise<Answer>): OpenRoute {
  let made: Promise<Answer> | undefined;
  const answer: OpenRoute["answer"] = async (_, message) => {
    made ??= make();
    try {
      return unlessKnown(await made, message);
    } catch (error) {
      // The next one who asks may find what was missing.
      made = undefined;
      throw error;
    }
  };
  return { method: "GET", path, scope: null, operation: told, answer };
}

/** The same for everybody until the next version: may be kept, and is asked for by its name before it is used. */
function lasting(text: string, contentType: string, headers: Answer["headers"] = {}): Answer {
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  return { status: 200, text, contentType, headers: { ...headers, "cache-control": "no-cache", etag } };
}

/** 304 for who has this very answer. */
function unlessKnown(answer: Answer, message: RequestHead): Answer {
  const etag = answer.headers?.["etag"];
  const known = message.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (etag === undefined || known?.some((one) => one === etag || one === "*") !== true) return answer;
  return { ...answer, status: 304, text: "" };
}
