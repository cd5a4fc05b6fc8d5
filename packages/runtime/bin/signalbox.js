#!/usr/bin/env node
// The `signalbox` command; committed as it is, since npm does not link a command whose file the build has yet to make.
// @ts-check
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chooseNode, endWith, runningNodeIsGood } from "../launch/choose-node.js";
import { runChild, whenNpmIsGone } from "../launch/run-child.js";

const main = new URL("../dist/cli/main.js", import.meta.url);

if (!existsSync(main)) {
  process.stderr.write("signalbox: the command is not built yet: run npm run build first.\n");
  process.exitCode = 1;
} else if (runningNodeIsGood) {
  whenNpmIsGone(() => process.kill(process.pid, "SIGTERM"));
  await import(main.href);
} else {
  await endWith(async () => {
    const { node, env } = await chooseNode([]);
    const self = fileURLToPath(import.meta.url);
    return runChild(node, [self, ...process.argv.slice(2)], { stdio: "inherit", env });
  });
}
