// Readers of a call whose runtime dies or leaves in mid-stream: the worker goes on, no number comes twice, gaps are told, one end.
import { createClient, type CallStreamEvent, type Client } from "@signalbox/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
let http: TcpProxy;
let client: Client;
/** What the handler is told to write, by gate. */
const writers = new Map<string, (text: string) => void>();

beforeAll(async () => {
  stack = await startStack();
  await stack.register(workerTool("write", "1.0.0", { side_effect_class: "non_idempotent_write", timeout: "60s" }));
  const grpc = await stack.startProxy();
  http = await startTcpProxy(new URL(stack.url()).host);
  client = createClient({ url: `http://${http.address}`, key: stack.adminKey });
  const worker = {
    tool: "write",
    handler(args: { readonly gate: string }, ctx: Parameters<typeof gates.hold>[1]) {
      writers.set(args.gate, (text) => ctx.output("stdout", text));
      return gates.hold(args, ctx);
    },
  };
  await stack.startWorker("w-write", [worker], { address: grpc.address });
});
afterAll(async () => {
  await http.close();
  await finish(stack, gates);
});

interface Followed {
  readonly events: CallStreamEvent[];
  readonly over: Promise<void>;
}

function following(stream: AsyncIterable<CallStreamEvent>): Followed {
  const events: CallStreamEvent[] = [];
  const over = (async () => {
    for await (const event of stream) events.push(event);
  })();
  over.catch(() => undefined);
  return { events, over };
}

const texts = (events: readonly CallStreamEvent[]): string[] =>
  events.flatMap((event) => (event.type === "stdout" ? [event.data.text] : []));
const seqs = (events: readonly CallStreamEvent[]): number[] =>
  events.map((event) => (event.type === "gap" ? event.to : event.seq));

async function begin(gate: string): Promise<{ readonly id: string; readonly write: (text: string) => void }> {
  await stack.admin.invoke({ tool: "write", input: { gate }, mode: "async" });
  const { callId } = await gates.entered(gate);
  return { id: callId, write: (text) => writers.get(gate)?.(text) };
}

/** The worker dials again by itself. */
async function restart(): Promise<void> {
  await stack.start();
  http.aimAt(new URL(stack.url()).host);
  await expect.poll(async () => (await stack.ready("w-write")).length, slowly).toBe(1);
}

function expectOneStream(events: readonly CallStreamEvent[]): void {
  const numbers = seqs(events);
  expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
  expect(events.filter(({ type }) => type === "done" || type === "error")).toHaveLength(1);
  expect(events.at(-1)?.type).toBe("done");
  // Where numbers leap, a gap stands before the leap, and says exactly what is missing.
  for (const [at, event] of events.entries()) {
    const before = at === 0 ? 0 : (numbers[at - 1] ?? 0);
    expect(event.type === "gap" ? event.from : event.seq).toBe(before + 1);
  }
}

test("kill -9 in mid-stream: readers come back by themselves, and what nobody kept is a gap", async () => {
  const { id, write } = await begin("kill");
  const reader = following(client.follow(id));
  write("before ");
  await expect.poll(() => texts(reader.events), slowly).toEqual(["before "]);
  // What was said in the last hundred milliseconds may or may not be in the ledger.
  for (let count = 0; count < 50; count++) write("perhaps ");
  await stack.kill();
  await restart();
  write("after ");
  await expect.poll(() => texts(reader.events).at(-1), slowly).toBe("after ");
  gates.open("kill", { wrote: true });
  await reader.over;
  expectOneStream(reader.events);
  expect(reader.events.some(({ type }) => type === "gap")).toBe(true);
  expect(texts(reader.events)[0]).toBe("before ");
  expect(reader.events.at(-1)).toMatchObject({
    type: "done",
    data: { status: "succeeded", outputText: '{"wrote":true}' },
  });
  expect(gates.entriesOf(id)).toHaveLength(1);

  // Somebody who comes late sees the same numbers, as far as they were kept.
  await expect
    .poll(async () => {
      const late = following(client.follow(id));
      await late.over;
      expectOneStream(late.events);
      const known = new Map(reader.events.map((event, at) => [seqs(reader.events)[at], event.type]));
      return late.events.every((event, at) => event.type === "gap" || known.get(seqs(late.events)[at]) === event.type);
    }, slowly)
    .toBe(true);
});

test("a reader that was away while the call ended gets its end, whatever it had", async () => {
  const { id, write } = await begin("away");
  write("one");
  const reader = following(client.follow(id));
  await expect.poll(() => texts(reader.events), slowly).toEqual(["one"]);
  await stack.kill();
  const had = seqs(reader.events).at(-1) ?? 0;
  http.cut();
  await restart();
  gates.open("away");
  await stack.admin.until(id, ["succeeded"]);
  http.mend();
  await reader.over;
  expectOneStream(reader.events);
  expect(had).toBe(2);
});

test("SIGTERM while readers follow: the drain does not hang, and they follow on in the next runtime", async () => {
  const { id, write } = await begin("term");
  const { runtime } = stack;
  const reader = following(client.follow(id));
  write("before");
  await expect.poll(() => texts(reader.events), slowly).toEqual(["before"]);
  // Another call is waiting for a worker that will never come: it goes on in the next runtime.
  await stack.register(workerTool("later"));
  const waiting = (await stack.admin.invoke({ tool: "later", input: {}, mode: "async" })).body.execution_id ?? "";
  const other = following(client.follow(waiting));
  const raw = await fetch(`${stack.url()}/v1/executions/${waiting}/stream`, {
    headers: { authorization: `Bearer ${stack.adminKey}` },
  });
  runtime.signal("SIGTERM");
  write(" while it drains");
  await expect.poll(() => texts(reader.events), slowly).toEqual(["before", " while it drains"]);
  gates.open("term");
  expect(await runtime.ended).toEqual({ code: 0, signal: null });
  // A connection that is cut ends in an error; this one was ended, with a word.
  expect((await raw.text()).endsWith(": the runtime leaves; come back with the last id\n\n")).toBe(true);
  await reader.over;
  expectOneStream(reader.events);
  expect(reader.events.some(({ type }) => type === "gap")).toBe(false);
  await restart();
  await stack.startWorker("w-later", [{ tool: "later", handler: () => "at last" }]);
  await other.over;
  expect(other.events.at(-1)?.type).toBe("done");
});
