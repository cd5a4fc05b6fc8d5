// Programs of examples/ as their readers start them: processes of their own, beside a real runtime.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startNode, type Child } from "./processes.ts";
import type { Stack } from "./stack.ts";

export const examples = fileURLToPath(new URL("../../examples", import.meta.url));

/** @param file from examples/ on */
export function startExample(
  stack: Stack,
  file: string,
  {
    key,
    env = {},
    args = [],
  }: { readonly key: string; readonly env?: Readonly<Record<string, string>>; readonly args?: readonly string[] },
): Child {
  return startNode([join(examples, file), ...args], {
    cwd: stack.folder,
    env: { SIGNALBOX_KEY: key, SIGNALBOX_URL: stack.url(), SIGNALBOX_WORKER_ADDRESS: stack.grpc(), ...env },
  });
}

/** A key that lets a worker in and does nothing else. */
export async function workerKey(stack: Stack, principal: string): Promise<string> {
  return (await stack.makeKey({ principal, scopes: ["workers:connect"] })).secret;
}

/** Until a worker of this id is there. */
export async function connected(stack: Stack, workerId: string): Promise<void> {
  await stack.untilNew(workerId, []);
}
