// A stopped process takes what it started with it, and its last words reach the one who waited.
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { startNode } from "./children.ts";

const parent = `
  const { spawn } = require("node:child_process");
  const grandchild = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "ignore" });
  console.log("a banner");
  console.log(JSON.stringify({ ready: true, grandchild: grandchild.pid }));
  process.on("SIGTERM", () => process.exit(0));
`;

test("stopping kills the whole process group", async () => {
  const child = startNode("parent", ["-e", parent]);
  const { grandchild } = await child.saying("ready", 10_000);
  expect(existsSync(`/proc/${String(grandchild)}`)).toBe(true);
  await child.stop();
  await expect.poll(() => existsSync(`/proc/${String(grandchild)}`), { timeout: 5_000 }).toBe(false);
});

test("waiting for a word of a process that ends rejects with what it wrote to stderr", async () => {
  const child = startNode("mute", ["-e", "console.error('no such port'); process.exit(3)"]);
  await expect(child.saying("ready", 10_000)).rejects.toThrow("mute ended (exit code 3): no such port");
});
