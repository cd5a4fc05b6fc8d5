// What callers, tools and workers run into, at each door: exactly as much as a limit says is taken, and one more is answered by its name.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ToolError } from "@signalbox/worker";
import { doors } from "../support/doors.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type Stack } from "../support/stack.ts";

const MiB = 1_048_576;
const gates = createGates();
let stack: Stack;

const text = (size: number): string => "a".repeat(size);

beforeAll(async () => {
  stack = await startStack();
  await stack.register(workerTool("mirror", "1.0.0", { input: {} }));
  await stack.register(workerTool("result"));
  await stack.register(workerTool("refusing"));
  await stack.register(workerTool("held"));
  await stack.startWorker("w-limits", [
    { tool: "mirror", handler: (args: unknown) => args },
    { tool: "result", handler: ({ bytes }: { readonly bytes: number }) => text(bytes - 2) },
    {
      tool: "refusing",
      handler({ message, details }: { readonly message: number; readonly details: number }) {
        throw new ToolError("no", text(message), { details: { d: text(details - '{"d":""}'.length) } });
      },
    },
    { tool: "held", handler: gates.hold },
  ]);
});
afterAll(() => finish(stack, gates));

describe.each(doors)("at the door $name", (door) => {
  let admin: Rest;
  beforeAll(() => {
    admin = door.as(stack, stack.adminKey);
  });

  test("inputBytesMax: an input of 1 MiB is taken, and one that grows over it by being written out is not", async () => {
    // `1e21` is written out as `1e+21`: so the input is larger than what was sent.
    const input = (bytes: number): string => {
      const count = Math.floor((bytes - 4) / 6);
      const rest = bytes - count * 6 - 3;
      return `[${"1e21,".repeat(count)}"${text(rest - 1)}"]`;
    };
    const send = (bytes: number) =>
      admin.ask("POST", "/v1/executions", { body: `{"tool":"mirror","input":${input(bytes)}}` });
    const taken = await send(MiB);
    expect([taken.status, taken.body.status]).toEqual([200, "succeeded"]);
    const refused = await send(MiB + 1);
    expect([refused.status, refused.body.error?.code]).toEqual([413, "payload_too_large"]);
    expect(refused.body.error?.message).toContain("the input has 1048577 bytes; the limit is 1048576");
  });

  test("resultBytesMax, and a caller's own max_output_bytes below it", async () => {
    const invoke = (bytes: number, limits?: object) =>
      admin.invoke({ tool: "result", input: { bytes }, ...(limits === undefined ? {} : { limits }) });
    expect((await invoke(MiB)).status).toBe(200);
    const over = await invoke(MiB + 1);
    expect([over.status, over.body.error?.details]).toMatchObject([422, { resource: "output", limit: MiB }]);
    const own = { max_output_bytes: 100 };
    expect((await invoke(100, own)).status).toBe(200);
    const overOwn = await invoke(101, own);
    expect([overOwn.status, overOwn.body.error?.details]).toMatchObject([422, { resource: "output", limit: 100 }]);
    // More than the limit of the house changes nothing.
    expect((await invoke(MiB + 1, { max_output_bytes: 2 * MiB })).status).toBe(422);
  });

  test("errorMessageCharsMax: a tool's own message has 2 000 characters, a longer one is cut", async () => {
    const told = async (message: number): Promise<string | undefined> =>
      (await admin.invoke({ tool: "refusing", input: { message, details: 8 } })).body.error?.message;
    expect(await told(2_000)).toBe(text(2_000));
    expect(await told(2_001)).toBe(`${text(1_999)}…`);
  });

  test("errorDetailsBytesMax: a tool's own details are told up to 16 KiB, and else left out", async () => {
    const refused = async (details: number) =>
      (await admin.invoke({ tool: "refusing", input: { message: 1, details } })).body;
    const told = async (details: number): Promise<unknown> => (await refused(details)).error?.details;
    // With our own names around them they must still fit.
    const around = '{"tool_code":"no","tool_details":}'.length;
    if (door.name === "gRPC") {
      // A status has room for 4 KiB in its trailers, and the record has what is left out there.
      const { error, execution_id } = await refused(16_384 - around);
      expect(error?.details).toEqual({ omitted: "details over 4096 bytes in all" });
      const kept = (await admin.call(execution_id)).error?.details;
      expect(kept).toEqual({ tool_code: "no", tool_details: { d: text(16_384 - around - 8) } });
      expect(await told(16_385)).toEqual({ tool_code: "no" });
      return;
    }
    expect(await told(16_384 - around)).toEqual({ tool_code: "no", tool_details: { d: text(16_384 - around - 8) } });
    expect(await told(16_384)).toMatchObject({ omitted: "details over 16384 bytes" });
    expect(await told(16_385)).toEqual({ tool_code: "no" });
  });

  test("idempotencyKeyCharsMax, nameCharsMax, contextBytesMax and jsonDepthMax", async () => {
    const status = async (more: Readonly<Record<string, unknown>>): Promise<number> =>
      (await admin.invoke({ tool: "echo", input: {}, ...more })).status;
    const deep = (levels: number): unknown =>
      Array.from({ length: levels }, () => 0).reduce<unknown>((inner) => [inner], 1);
    const key = `${door.name}-${"k".repeat(300)}`;
    expect([await status({ idempotency_key: key.slice(0, 255) }), await status({ idempotency_key: key.slice(0, 256) })]).toEqual([200, 400]);
    // A name of 128 characters is one, and no tool has it.
    expect([await status({ tool: text(128) }), await status({ tool: text(129) })]).toEqual([404, 400]);
    const context = (bytes: number): object => ({ k: text(bytes - '{"k":""}'.length) });
    expect([await status({ context: context(16_384) }), await status({ context: context(16_385) })]).toEqual([200, 400]);
    // The body is a level of its own.
    expect([await status({ input: { deep: deep(62) } }), await status({ input: { deep: deep(63) } })]).toEqual([200, 400]);
  });

  test("syncWaitMsMax, and a wait that is shorter than the call", async () => {
    const held = (wait_ms: number) => admin.invoke({ tool: "held", input: { gate: door.name }, wait_ms });
    expect((await held(300_001)).status).toBe(400);
    const early = await held(50);
    expect([early.status, early.body.status]).toEqual([202, "running"]);
    gates.open(door.name);
    await admin.until(early.body.execution_id, ["succeeded"]);
    expect((await held(300_000)).status).toBe(200);
  });

  test("deadline_ms: what is not done in time has timed out, wherever it stood", async () => {
    const gate = `${door.name}-deadline`;
    const late = await admin.invoke({ tool: "held", input: { gate }, deadline_ms: 200 });
    expect([late.status, late.body.error?.code]).toEqual([504, "timeout"]);
    expect(late.body.error?.message).toContain("total deadline");
  });

  test("fileBytesMax: a file of 32 MiB is stored, one byte more is not", async () => {
    const put = (bytes: number) =>
      admin.ask("PUT", "/v1/files", {
        body: new Uint8Array(bytes),
        headers: { "content-type": "application/octet-stream" },
      });
    const stored = await put(32 * MiB);
    expect([stored.status, stored.body["bytes"]]).toEqual([200, 33_554_432]);
    const over = await put(32 * MiB + 1);
    expect([over.status, over.body.error?.code]).toEqual([413, "payload_too_large"]);
  });
});
