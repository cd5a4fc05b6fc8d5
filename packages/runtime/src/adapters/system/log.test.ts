// The log's three forms: a line for people, a line of JSON, nothing.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** What a process writes that logs three lines; standard output must stay clean for results. */
async function written(form: string): Promise<{ stdout: string; stderr: string }> {
  const module = new URL("./log.ts", import.meta.url).href;
  const script = `
    const { createLog } = await import(${JSON.stringify(module)});
    const log = createLog(${JSON.stringify(form)});
    log.info({ calls: 2, tool: "pay" }, "went on");
    log.warn({}, "careful");
    log.error({ reason: "disk full" }, "stopped");
  `;
  return promisify(execFile)(process.execPath, ["--no-warnings", "--input-type=module", "--eval", script]);
}

test("pretty: a line each on standard error, facts behind the message", async () => {
  const { stdout, stderr } = await written("pretty");
  expect(stdout).toBe("");
  expect(stderr.split("\n")).toEqual(["  went on calls=2 tool=pay", "! careful ", "✗ stopped reason=disk full", ""]);
});

test("json: one object a line, with level, time and message, and neither pid nor host", async () => {
  const { stdout, stderr } = await written("json");
  expect(stdout).toBe("");
  const lines = stderr.trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toEqual([
    { level: "info", time: expect.any(Number) as number, calls: 2, tool: "pay", msg: "went on" },
    { level: "warn", time: expect.any(Number) as number, msg: "careful" },
    { level: "error", time: expect.any(Number) as number, reason: "disk full", msg: "stopped" },
  ]);
});

test("silent: nothing", async () => {
  expect(await written("silent")).toMatchObject({ stdout: "", stderr: "" });
});
