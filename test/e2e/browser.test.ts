// The client in a real browser: on a page of the runtime's own origin, and on pages of others.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ToolContext } from "@signalbox/worker";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { appFileAt, enterApp, openApp, startBrowser } from "../support/browser.ts";
import { finish } from "../support/finish.ts";
import { createGates, type GateArgs } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let browser: Browser;
let stack: Stack;
/** Serves the page from an origin of its own. */
let site: Server;
let sitePort: number;

beforeAll(async () => {
  browser = await startBrowser();
  site = createServer((request, response) => {
    void appFileAt(request.url ?? "").then((served) => {
      response.writeHead(served === undefined ? 404 : 200, { "content-type": served?.contentType ?? "text/plain" });
      response.end(served?.body);
    });
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  sitePort = (site.address() as AddressInfo).port;
  stack = await startStack({ args: ["--cors-origin", `http://127.0.0.1:${sitePort}`] });
  const unsafe = { side_effect_class: "non_idempotent_write" };
  for (const name of ["talk", "hold", "count", "count.asked"]) await stack.register(workerTool(name, "1.0.0", unsafe));
  await stack.publish({ name: "ask", match: { tools: ["count.asked"] }, then: ask("finance") });
  await stack.startWorker("w-browser", [
    {
      tool: "talk",
      handler(_args: unknown, ctx: ToolContext) {
        ctx.output("stdout", "grüße ");
        ctx.output("stdout", "aus dem Werkzeug");
        return { big: 98765432109876543210n };
      },
    },
    {
      tool: "hold",
      handler(args: GateArgs, ctx: ToolContext) {
        ctx.output("stdout", "here");
        return gates.hold(args, ctx);
      },
    },
    { tool: "count", handler: gates.note },
    { tool: "count.asked", handler: gates.note },
  ]);
});
afterAll(async () => {
  await browser.close();
  await new Promise((resolve) => site.close(resolve));
  await finish(stack, gates);
});

/** Calls a method of the page's client. */
function call<T>(page: Page, key: string, method: string, ...args: readonly unknown[]): Promise<T> {
  const connected = `window.app.connect(${JSON.stringify(stack.url())}, ${JSON.stringify(key)})`;
  return page.evaluate<T>(`${connected}.${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`);
}

interface Invoked {
  readonly status: string;
  readonly outputText: string | null;
  readonly id: string;
}

async function everything(page: Page): Promise<void> {
  const key = stack.adminKey;
  expect(await call<Invoked>(page, key, "invoke", "echo", { message: "hi" })).toMatchObject({
    status: "succeeded",
    outputText: expect.stringContaining('"message":"hi"') as string,
  });
  const talked = await call<Invoked>(page, key, "invoke", "talk", {});
  expect(talked.outputText).toBe('{"big":98765432109876543210}');

  expect(await call<string[]>(page, key, "stream", "talk", {})).toEqual([
    "start",
    "stdout grüße ",
    "stdout aus dem Werkzeug",
    "done",
  ]);

  expect(await call(page, key, "stop", "hold", { gate: "browser" })).toEqual({ open: true, end: "cancelled" });

  const asked = await call<Invoked>(page, key, "invoke", "count.asked", {});
  expect(asked.status).toBe("awaiting_approval");
  const { secret } = await stack.person("fay", "finance");
  expect(await call<string[]>(page, secret, "approveAll")).toEqual([asked.id]);
  expect(await call(page, key, "end", asked.id)).toBe("succeeded");

  await call(page, key, "fail", "no.such.tool");
  expect(await page.textContent("output")).toMatch(/^tool_not_found \(404\): /);
}

describe("a page of the runtime's own origin", () => {
  test("runs, follows, stops and decides calls, and shows what went wrong", async () => {
    const page = await openApp(browser, stack.url());
    await everything(page);
    await page.close();
  });

  test("an answer that is lost on its way is asked for again, and the tool ran once", async () => {
    const page = await openApp(browser, stack.url());
    let lost = 0;
    await page.route(`${stack.url()}/v1/executions`, async (route) => {
      if (lost > 0) return route.continue();
      lost += 1;
      await route.fetch();
      await route.abort("connectionreset");
    });
    const before = gates.entries.length;
    const { status, id } = await call<Invoked>(page, stack.adminKey, "invoke", "count", {});
    expect([lost, status]).toEqual([1, "succeeded"]);
    expect(gates.entries.slice(before).map(({ callId }) => callId)).toEqual([id]);
    await page.close();
  });
});

describe("a page of another origin", () => {
  test("that was let in does all the same", async () => {
    const page = await browser.newPage();
    await enterApp(page, `http://127.0.0.1:${sitePort}`);
    await everything(page);
    await page.close();
  });

  test("that was not is kept out by the browser, and no tool runs for it", async () => {
    const page = await browser.newPage();
    // The same server under another name is another origin.
    await enterApp(page, `http://localhost:${sitePort}`);
    const before = gates.entries.length;
    await call(page, stack.adminKey, "fail", "count");
    expect(await page.textContent("output")).toMatch(/^unreachable \(0\): no answer from /);
    expect(gates.entries).toHaveLength(before);
    await page.close();
  });
});
