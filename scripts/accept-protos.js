// `npm run accept:protos`: makes the proto files as they are now what later ones are compared with.
// @ts-check
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runChild } from "../packages/runtime/launch/run-child.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const baseline = "packages/protocol/proto-baseline/signalbox.binpb";
const { values } = parseArgs({ options: { breaking: { type: "boolean", default: false } } });
const options = { cwd: root, stdio: /** @type {const} */ ("inherit"), env: process.env };

const broken = await runChild("buf", ["breaking", "--against", baseline], options);
if (broken !== 0 && !values.breaking) {
  process.stderr.write(
    "Callers who have the proto files as they were would break. Undo it, or accept it: npm run accept:protos -- --breaking\n",
  );
  process.exitCode = broken;
} else {
  process.exitCode = await runChild("buf", ["build", "--exclude-source-info", "-o", baseline], options);
}
