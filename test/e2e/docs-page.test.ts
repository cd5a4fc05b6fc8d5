// The page on which people read the API, in a real browser: it works from the runtime alone, calls can be tried on it, and
// the examples that it starts from are taken.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../support/browser.ts";
import { readDocument } from "../support/document.ts";
import { workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

/** A browser shares the machine with whatever else is tested on it. */
const patient = { timeout: 120_000 };

let browser: Browser;
let stack: Stack;

beforeAll(async () => {
  browser = await startBrowser();
  stack = await startStack();
});
afterAll(async () => {
  await browser.close();
  await stack.close();
  stack.remove();
});

interface Visit {
  readonly page: Page;
  /** Whatever the page asked for that is not of this runtime. */
  readonly foreign: readonly string[];
  /** Errors of its scripts, and what the browser refused it. */
  readonly complaints: readonly string[];
}

async function visit(): Promise<Visit> {
  const page = await browser.newPage();
  const foreign: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${stack.url()}/`) && !url.startsWith("data:")) foreign.push(url);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(`${stack.url()}/docs`);
  await page.waitForSelector(".opblock");
  return { page, foreign, complaints };
}

test("shows every operation in its chapter, by itself", patient, async () => {
  const { page, foreign, complaints } = await visit();
  expect(await page.textContent("h1, h2.title")).toContain("Signalbox");
  const document = JSON.parse((await stack.admin.get("/openapi.json")).text) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  const operations = Object.values(document.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  expect(await page.locator(".opblock").count()).toBe(operations);
  const chapters = await page.locator(".opblock-tag").evaluateAll((all) => all.map((one) => one.dataset["tag"]));
  expect(chapters.slice(0, 3)).toEqual(["executions", "approvals", "tools"]);
  expect([foreign, complaints]).toEqual([[], []]);
  await page.close();
});

test("tries a call with the key that is entered, and forgets it", patient, async () => {
  const { page, foreign, complaints } = await visit();
  await page.click(".authorize");
  await page.fill(".auth-container input", stack.adminKey);
  await page.click(".auth-btn-wrapper .authorize");
  await page.click(".auth-btn-wrapper .btn-done");
  const status = page.locator("#operations-operations-getStatus");
  await status.click();
  await status.locator(".try-out__btn").click();
  await status.locator(".execute").click();
  const answered = status.locator(".live-responses-table tbody .response-col_status");
  await answered.waitFor();
  expect(await answered.textContent()).toContain("200");
  expect(await status.locator(".live-responses-table").textContent()).toContain('"replica"');
  expect(await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([0, 0, ""]);
  expect([foreign, complaints]).toEqual([[], []]);
  await page.reload();
  await page.waitForSelector(".opblock");
  expect(await page.locator(".authorize.locked").count()).toBe(0);
  await page.close();
});

test("the runtime takes every example that it can take without more", async () => {
  await stack.register(workerTool("payments.charge"));
  const taken: string[] = [];
  for (const [path, methods] of Object.entries(readDocument().paths)) {
    for (const [method, { operationId, requestBody, tags }] of Object.entries(methods)) {
      const example = requestBody?.content["application/json"]?.example;
      // What is about something that exists has its id in the path, and files in packages were put before.
      if (example === undefined || path.includes("{") || operationId === "putPackage") continue;
      // Its agent was published by an example before it, and publishing deploys nothing.
      if (operationId === "startSession") await stack.admin.post("/v1/agents/support/deploy", { version: "1.0.0" });
      const rest = tags.includes("tenants") ? stack.operator : stack.admin;
      const { status, text } = await rest.ask(method === "put" ? "PUT" : "POST", path, { body: example });
      const good = status === 200 || status === 201 || (operationId === "startSession" && status === 202);
      expect([operationId, text, good]).toEqual([operationId, text, true]);
      taken.push(operationId);
    }
  }
  expect(taken.length).toBeGreaterThan(10);
});
