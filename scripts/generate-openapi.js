// `npm run generate:openapi [-- --into <file>]`: writes the API's document from the built runtime's routes, and what is made of it.
// @ts-check
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runChild } from "../packages/runtime/launch/run-child.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const kept = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));
const { values } = parseArgs({ options: { into: { type: "string", default: kept } } });

process.exitCode = await runChild("tsc", ["-b"], { cwd: root, stdio: "inherit", env: process.env });
if (process.exitCode === 0) {
  const built = new URL("../packages/runtime/dist/adapters/http/", import.meta.url).href;
  const { openApiText } = await import(`${built}openapi/document.js`);
  const { routeTable } = await import(`${built}routes/table.js`);
  writeFileSync(values.into, openApiText(routeTable));
  // The Python client is made from the document that is kept.
  if (values.into === kept) await import("./generate-python-client.js");
}
