// The example agents are read whole, and bind only what the example tools and policies have.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { cli } from "../../test/support/command-line.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the manifests of the examples are valid by themselves", async () => {
  const { code, out } = await cli(["validate", "examples/agents", "--json"], { cwd: root });
  const { items } = JSON.parse(out) as { readonly items: readonly { readonly agent?: string; readonly tool?: string; readonly problems: readonly { readonly message: string }[] }[] };
  expect(items.map(({ agent, tool }) => agent ?? tool)).toEqual(["ask-support@1.0.0", "support@1.0.0"]);
  // Its policy stands in a folder of its own.
  expect(items.flatMap(({ problems }) => problems.map(({ message }) => message))).toEqual([
    "names the policy payments-need-a-person@1.0.0, and no file of it stands in the manifest's folder or below",
  ]);
  expect(code).toBe(1);
});
