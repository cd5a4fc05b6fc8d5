// The version of this command line, from the package that it comes in.
import { readFileSync } from "node:fs";

interface PackageFile {
  readonly version: string;
}

/** src/cli and dist/cli are equally deep, so one path serves both. */
export const cliVersion = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as PackageFile
).version;
