// Python for tests of what is written in it: whether this host has it, and runs of its steps.
import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseWithBigInts, stringifyWithBigInts } from "@signalbox/protocol";

const clientFolder = fileURLToPath(new URL("../../clients/python", import.meta.url));
const stepsFile = fileURLToPath(new URL("python/steps.py", import.meta.url));

/** In CI it must be there; elsewhere a host without it says so, and fails nothing. */
export function whyNoPython(): string | undefined {
  const { status, stdout, error } = spawnSync("python3", ["-c", "import sys; print(sys.version_info >= (3, 9))"], {
    encoding: "utf8",
  });
  if (status === 0 && stdout.trim() === "True") return undefined;
  const reason = `the Python client needs python3 of version 3.9 or later: ${error?.message ?? `it says ${stdout.trim()}`}`;
  if (process.env["CI"] !== undefined) throw new Error(reason);
  return reason;
}

/** What a program printed. @throws Error with what it said on stderr when it failed */
export function python(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn("python3", ["-X", "dev", "-W", "error", "-B", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SIGNALBOX_URL: "", SIGNALBOX_KEY: "", PYTHONPATH: clientFolder, ...env },
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`python3 ${args.join(" ")} ended with ${code}: ${err}`));
    });
  });
}

/** Runs one step; bigints keep their digits, and whole numbers beyond what a double holds come back as bigints. */
export async function step(
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  return parseWithBigInts(await python([stepsFile, name, stringifyWithBigInts(args)], env));
}
