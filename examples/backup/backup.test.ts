// A copy that is made while calls run is a whole data folder: its audit holds, and a runtime goes on from it.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examples, startExample } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import { startStack, type Stack } from "../../test/support/stack.ts";

let stack: Stack;
let restored: Stack | undefined;

beforeAll(async () => {
  stack = await startStack();
  await stack.cli(["tools", "register", `${examples}/boxed/csv.summary`]);
});
afterAll(async () => {
  // A call that ran while the copy was made waits for its lease to run out; nobody needs to see that here.
  await restored?.kill();
  restored?.remove();
  await finish(stack);
});

test("what was answered before the copy is in it, whatever runs meanwhile", async () => {
  const { admin } = stack;
  const before = await admin.invoke({ tool: "echo", input: { n: "before" } });
  let copied = false;
  const busy = (async () => {
    while (!copied) await admin.invoke({ tool: "echo", input: { n: "meanwhile" } });
  })();
  const copy = join(stack.folder, "copy");
  const program = startExample(stack, "backup/backup.js", { key: "", args: [stack.dataDir, copy] });
  const { code } = await program.ended;
  copied = true;
  await busy;
  expect({ code, said: program.stderr() }).toEqual({ code: 0, said: "" });

  const verified = await stack.cli(["audit", "verify", "--local", "--data", copy]);
  expect(verified).toMatchObject({ code: 0, out: expect.stringContaining("the chain holds") });

  restored = await startStack({ dataDir: copy });
  const found = await restored.admin.get(`/v1/executions/${String(before.body.execution_id)}`);
  expect(found.body).toMatchObject({ status: "succeeded", output: { n: "before" } });
  expect((await restored.admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
  expect((await restored.admin.get("/v1/tools/csv.summary")).status).toBe(200);
});

test("it copies over nothing", async () => {
  const program = startExample(stack, "backup/backup.js", { key: "", args: [stack.dataDir, stack.folder] });
  expect(await program.ended).toMatchObject({ code: 2 });
});
