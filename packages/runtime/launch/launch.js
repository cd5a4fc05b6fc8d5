// The launcher that every npm script goes through: `node launch.js <command> [args…]`, on a Node that is new enough.
// @ts-check
import { join } from "node:path";
import { chooseNode, endWith, root } from "./choose-node.js";
import { runChild } from "./run-child.js";

const [command, ...args] = process.argv.slice(2);

await endWith(async () => {
  if (command === undefined) {
    process.stderr.write("signalbox: nothing to run. Usage: node launch.js <command> [arguments]\n");
    return 2;
  }
  const { node, env } = await chooseNode([join(root, "node_modules", ".bin")]);
  return runChild(command === "node" ? node : command, args, { stdio: "inherit", env });
});
