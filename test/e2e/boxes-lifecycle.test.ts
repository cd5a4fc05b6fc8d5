// Boxes over the life of a runtime: switches, no boxes at all, a sandbox worker that dies or makes room, and a stop in mid-call.
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { needsBoxes, registerSmall, untilBoxes, whyNoBoxes, withWord, workerOf } from "../support/boxed.ts";
import { finish } from "../support/finish.ts";
import { startStack, type Stack, type StackOptions } from "../support/stack.ts";

let missing: string | undefined;
beforeAll(async () => {
  missing = await whyNoBoxes();
});

/** Stopped and looked at when its test is over. */
async function start(options: StackOptions): Promise<Stack> {
  const stack = await startStack(options);
  onTestFinished(() => finish(stack));
  return stack;
}

const javascript = (code: string) => ({ tool: "code.run", input: { language: "javascript", code } });
const python = (code: string) => ({ tool: "code.run", input: { language: "python", code } });

test("SCH-12: without boxes everything for a box is refused at once, and what needs none works", async () => {
  const { admin } = await start({ boxes: 0 });
  const startedAt = performance.now();
  const { status, body } = await admin.invoke(javascript("1"));
  expect([status, body.error]).toMatchObject([
    503,
    { code: "sandbox_unavailable", details: { reason: "no_capable_worker", required_rank: 40, backends: [], able: ["wasm"] } },
  ]);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect((await admin.invoke(python("1"))).body.error?.details).toMatchObject({ required_rank: 10 });
  expect((await admin.invoke({ tool: "echo", input: { a: 1 } })).body.output).toEqual({ a: 1 });
});

test("a privileged tool that nobody switched on is denied by name, and is in no list", async (context) => {
  const { admin, cli, logs } = await start({ boxes: 2, args: ["--enable", "none"] });
  const { status, body } = await admin.invoke({ tool: "shell.run", input: { command: "id" } });
  expect([status, body.error]).toMatchObject([
    403,
    { code: "forbidden", details: { reason: "tool_off", switch: "shell.run" } },
  ]);
  expect(body.error?.message).toContain("signalbox dev --enable shell.run");
  expect(await admin.call(body.execution_id)).toMatchObject({ status: "denied" });
  const denied = await admin.invoke(python("1"));
  expect([denied.status, denied.body.error?.details["switch"]]).toEqual([403, "code.run"]);
  const { items = [] } = (await admin.get("/v1/tools")).body;
  expect(items.map((one) => one["tool"])).toEqual(["code.run", "echo"]);
  expect((await cli(["run", "shell.run", "--input", `{"command":"id"}`])).err).toContain("--enable shell.run");
  expect(logs()).toContain(`"off":["code.run","fs.list","fs.read","fs.write","shell.run"]`);
  needsBoxes(context, missing);
  await untilBoxes(admin);
  expect((await admin.invoke(javascript("1"))).status).toBe(200);
});

test("what was queued for a tool does not run once its switch is off", async (context) => {
  needsBoxes(context, missing);
  const here = await start({ boxes: 2, args: ["--enable", "shell.run"] });
  await untilBoxes(here.admin);
  await here.admin.post("/v1/freezes", { reason: "hold it" });
  const { body } = await here.admin.invoke({ tool: "shell.run", input: { command: "id" }, mode: "async" });
  await here.stop();
  const again = await start({ boxes: 2, dataDir: here.dataDir });
  await again.admin.post("/v1/freezes:lift", {});
  expect(await again.admin.until(body.execution_id, ["denied", "succeeded", "failed"])).toMatchObject({
    status: "denied",
    error: { code: "forbidden", details: { reason: "tool_off", switch: "shell.run" } },
  });
});

test(
  "a sandbox worker that is killed takes its boxes along; a safe call runs again, an unsafe one waits for a person; a drain waits for a box",
  { timeout: 45_000 },
  async (context) => {
    needsBoxes(context, missing);
    const here = await start({ boxes: 4 });
    await untilBoxes(here.admin);
    // A lease outlasts a dead worker by 15 s; the tools may take longer than that.
    await registerSmall(here, "safe.one", { timeout: "60s" });
    await registerSmall(here, "unsafe.one", { timeout: "60s", sideEffectClass: "non_idempotent_write" });
    const marker = `8${process.pid}`;
    const input = { command: `sleep ${marker}; echo 1 >&3` };
    const [safe, unsafe] = await Promise.all(
      ["safe.one", "unsafe.one"].map(
        async (tool) => (await here.admin.invoke({ tool, input, mode: "async" })).body.execution_id,
      ),
    );
    await expect.poll(() => withWord(marker).length, { timeout: 10_000 }).toBe(2);
    const before = workerOf(here);
    if (before === undefined) throw new Error("there is no sandbox worker");
    process.kill(before, "SIGKILL");
    await expect.poll(() => withWord(marker), { timeout: 5_000 }).toEqual([]);
    await untilBoxes(here.admin);
    expect(workerOf(here)).not.toBe(before);
    expect(await here.admin.until(unsafe, ["indeterminate"], 25_000)).toMatchObject({
      error: { code: "indeterminate", details: { may_have_executed: true } },
      execution: { attempt: 1 },
    });
    await expect
      .poll(async () => (await here.admin.call(safe)).execution, { timeout: 10_000 })
      .toMatchObject({ attempt: 2 });
    await here.admin.post(`/v1/executions/${safe}/cancel`, {});
    await here.admin.until(safe, ["cancelled"]);

    // And a runtime that is told to stop lets a box finish, and keeps what it came to.
    const slow = { command: `sleep 0.8${process.pid}; echo '"done"' >&3` };
    const { body } = await here.admin.invoke({ tool: "safe.one", input: slow, mode: "async" });
    await expect.poll(() => withWord(`0.8${process.pid}`).length).toBe(1);
    expect((await here.stop()).code).toBe(0);
    expect(withWord(`0.8${process.pid}`)).toEqual([]);
    await here.start();
    expect(await here.admin.call(body.execution_id)).toMatchObject({ status: "succeeded", output: "done" });
  },
);

test("a sandbox worker that makes room for a fresh one loses nothing", { timeout: 45_000 }, async (context) => {
  needsBoxes(context, missing);
  const here = await start({ boxes: 0, args: ["--queue-wait", "20s"] });
  const args = ["worker", "--data", here.dataDir, "--capacity", "2", "--recycle-calls", "3"];
  let workers = 0;
  let over = false;
  const keep = (async () => {
    while (!over) {
      workers += 1;
      const worker = here.startCli(args);
      const { code } = await worker.ended;
      if (!over && code !== 0) throw new Error(`a sandbox worker ended with ${code}: ${worker.stderr()}`);
    }
  })();
  await Promise.race([untilBoxes(here.admin), keep]);
  const asked = Array.from({ length: 8 }, async (_, n) => {
    for (;;) {
      const { status, body } = await here.admin.invoke(javascript(`${n} * 2`));
      // Between one and the next there is none: nothing was admitted then.
      if (status !== 503) return [body.status, (body.output as { result: number } | undefined)?.result];
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  expect(await Promise.all(asked)).toEqual([0, 2, 4, 6, 8, 10, 12, 14].map((result) => ["succeeded", result]));
  expect(workers).toBeGreaterThan(2);
  over = true;
  keep.catch(() => undefined);
});
