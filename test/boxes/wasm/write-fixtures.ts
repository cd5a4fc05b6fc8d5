// Writes the .wasm files beside their texts: node test/boxes/wasm/write-fixtures.ts, after a text was changed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { assemble } from "./assemble.ts";

const folder = new URL("fixtures/", import.meta.url);
for (const name of readdirSync(folder).filter((each) => each.endsWith(".wat"))) {
  const text = readFileSync(new URL(name, folder), "utf8");
  writeFileSync(new URL(name.replace(/t$/, "sm"), folder), assemble(text));
}
