// A real browser for tests, and a page in it that has the built client.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";

const clientFolder = fileURLToPath(new URL("../../packages/client/dist", import.meta.url));
const appFile = fileURLToPath(new URL("browser-app.js", import.meta.url));
const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** No word to anybody but the runtime under test. */
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** @throws Error that says how to get a browser where there is none: these tests are never passed over */
export async function startBrowser(): Promise<Browser> {
  const executablePath = places.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error(
      `these tests need a browser, and there is none at ${places.join(", ")}; next: apt-get install chromium`,
    );
  return chromium.launch({ executablePath, args: quiet, headless: true });
}

interface Served {
  readonly contentType: string;
  readonly body: string;
}

/** `/app/…` of a page's origin: the page, its script, and the built client; undefined for what is not there. */
export async function appFileAt(path: string): Promise<Served | undefined> {
  if (path === "/app/") {
    const html = `<!doctype html><title>app</title><script type="module" src="/app/app.js"></script><output></output>`;
    return { contentType: "text/html", body: html };
  }
  const javascript = async (file: string): Promise<Served> => ({
    contentType: "text/javascript",
    body: await readFile(file, "utf8"),
  });
  if (path === "/app/app.js") return javascript(appFile);
  const name = /^\/app\/client\/([\w-]+\.js)$/.exec(path)?.[1];
  return name === undefined ? undefined : javascript(join(clientFolder, normalize(name)));
}

/** Opens the page; its origin's own server gets nothing of `/app/…` to see. */
export async function openApp(browser: Browser, origin: string): Promise<Page> {
  const page = await browser.newPage();
  await page.route(`${origin}/app/**`, async (route) => {
    const served = await appFileAt(new URL(route.request().url()).pathname);
    await route.fulfill(served ?? { status: 404 });
  });
  await enterApp(page, origin);
  return page;
}

/** Resolves once the page's script has run. @throws Error with what the page complained about */
export async function enterApp(page: Page, origin: string): Promise<void> {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(`${origin}/app/`);
  try {
    await page.waitForFunction("window.app !== undefined", undefined, { timeout: 10_000 });
  } catch (error) {
    throw new Error(`the page did not start: ${complaints.join("; ")}`, { cause: error });
  }
}
