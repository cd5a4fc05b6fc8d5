// The last line of a test run says how many tests passed, failed and were skipped; a broken file is never silent.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execFile } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { lineOf } from "./reporter.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs vitest on made-up files, inside the repository so that they find it, and answers its last line. */
async function lastLine(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(root, "node_modules", ".reporter-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const reporter = JSON.stringify(join(root, "test/reporter.ts"));
  const config = `export default { test: { include: ["*.test.ts"], exclude: [], reporters: [${reporter}] } };`;
  writeFileSync(join(folder, "vitest.config.ts"), config);
  const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder];
  const out = await new Promise<string>((resolve) => execFile(process.execPath, args, (_, stdout) => resolve(stdout)));
  return out.trimEnd().split("\n").at(-1) ?? "";
}

test("counts tests, files that do not load, and files whose hooks throw", async () => {
  const head = `import { test, beforeAll } from "vitest";\n`;
  const line = await lastLine({
    "mixed.test.ts": `${head} test("a", () => {}); test("b", () => { throw new Error("no"); }); test.runIf(false)("c", () => {});`,
    "broken.test.ts": `import "./not-there.ts";`,
    "hook.test.ts": `${head} beforeAll(() => { throw new Error("no"); }); test("d", () => {});`,
  });
  expect(line).toBe("1 passed, 3 failed, 2 skipped");
});

test("says nothing of skipped tests where there are none", () => {
  expect(lineOf({ passed: 12, failed: 0, skipped: 0 })).toBe("12 passed, 0 failed");
});
