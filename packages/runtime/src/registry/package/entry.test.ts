// Whether a package fits its executor, in both directions.
import { expect, test } from "vitest";
import type { Executor } from "../types.ts";
import { packageProblem } from "./entry.ts";
import type { PackageFile } from "./listing.ts";

const file = (path: string, mode: PackageFile["mode"] = "0644"): PackageFile => ({
  path,
  mode,
  ref: `sha256:${"0".repeat(64)}`,
});
const files = [file("tool.yaml"), file("src/main.py"), file("run.sh"), file("bin/go", "0755")];
const sandbox = (parts: Partial<Extract<Executor, { type: "sandbox" }>>): Executor => ({
  type: "sandbox",
  runtime: "python",
  entry: "src/main.py",
  ...parts,
});
const image = `debian@sha256:${"1".repeat(64)}`;

test.each<[Executor, readonly PackageFile[] | null]>([
  [sandbox({}), files],
  [sandbox({ runtime: "exec", entry: "bin/go" }), files],
  [sandbox({ image, entry: "/usr/bin/tool" }), null],
  [sandbox({ image, entry: "/usr/bin/tool" }), files],
  [sandbox({ image }), files],
  [{ type: "worker" }, null],
])("%j fits", (executor, given) => {
  expect(packageProblem(executor, given)).toBeUndefined();
});

test.each<[Executor, readonly PackageFile[] | null, object]>([
  [
    { type: "worker" },
    files,
    { path: "spec.executor.type", message: "executor worker runs no package", hint: "leave the package out" },
  ],
  [
    sandbox({}),
    null,
    {
      path: "spec.executor.entry",
      message: "names a file of a package, and there is no package",
      hint: "register the tool's folder: signalbox tools register <folder>",
    },
  ],
  [
    sandbox({ image }),
    null,
    {
      path: "spec.executor.entry",
      message: "names a file of a package, and there is no package",
      hint: "register the tool's folder: signalbox tools register <folder>",
    },
  ],
  [
    sandbox({ entry: "src/mian.py" }),
    files,
    { path: "spec.executor.entry", message: "is not in the package: src/mian.py", hint: 'did you mean "src/main.py"?' },
  ],
  [sandbox({ entry: "src" }), files, { path: "spec.executor.entry", message: "is not in the package: src" }],
  [
    sandbox({ runtime: "exec", entry: "run.sh" }),
    files,
    { path: "spec.executor.entry", message: "is no executable file: run.sh", hint: "chmod +x run.sh" },
  ],
])("%j does not fit", (executor, given, problem) => {
  expect(packageProblem(executor, given)).toEqual(problem);
});
