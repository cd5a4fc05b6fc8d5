// What a call says, over the real doors: in order and once, resumed, late, while people are asked, and when its reader goes away.
import { createClient, type CallStreamEvent, type Client } from "@signalbox/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { residentBytes } from "../../bench/procfs.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let client: Client;

beforeAll(async () => {
  stack = await startStack();
  client = createClient({ url: stack.url(), key: stack.adminKey });
  for (const tool of ["talk", "hold", "flood", "echo.beside"]) await stack.register(workerTool(tool, "1.0.0", { events: ["charged"] }));
  await stack.startWorker("w-talk", [
    {
      tool: "talk",
      async handler(args: { readonly gate: string }, ctx) {
        ctx.output("stdout", "out ");
        ctx.output("stderr", "err");
        ctx.progress(40, "on the way");
        ctx.log("a line");
        ctx.emit("charged", { n: 12345678901234567890n });
        await gates.hold(args, ctx);
        ctx.output("stdout", "last");
        return { big: 98765432109876543210n };
      },
    },
    { tool: "hold", handler: gates.hold },
    { tool: "echo.beside", handler: (args) => args },
    {
      tool: "flood",
      async handler({ chunks }: { readonly chunks: number }, ctx) {
        const chunk = "x".repeat(65_536);
        for (let count = 0; count < chunks; count++) {
          ctx.output("stdout", chunk);
          await ctx.flushed();
        }
        return null;
      },
    },
  ]);
});
afterAll(() => finish(stack, gates));

function words(event: CallStreamEvent): string {
  if (event.type === "gap") return `gap ${event.from}-${event.to}`;
  return `${event.seq} ${event.type} ${"text" in event.data ? event.data.text : ""}`.trim();
}

async function all(stream: AsyncIterable<CallStreamEvent>): Promise<string[]> {
  const found: string[] = [];
  for await (const event of stream) found.push(words(event));
  return found;
}

/** The first so many events; the rest is for others. */
async function some(stream: AsyncIterable<CallStreamEvent>, count: number): Promise<string[]> {
  const found: string[] = [];
  for await (const event of stream) if (found.push(words(event)) === count) break;
  return found;
}

const beginning = ["1 start", "2 stdout out", "3 stderr err", "4 progress", "5 log a line", "6 emit"];

describe("a call that talks", () => {
  test("is heard while it runs, by who runs it and by who follows it, and ends once for both", async () => {
    const running: string[] = [];
    let executionId = "";
    const ran = (async () => {
      for await (const event of client.stream({ tool: "talk", input: { gate: "talk-1" } })) {
        running.push(words(event));
        if (event.type === "done") executionId = event.data.execution_id;
        if (event.type === "done") expect(event.data.outputText).toBe('{"big":98765432109876543210}');
        if (event.type === "emit") expect(event.data).toMatchObject({ type: "charged" });
      }
    })();
    const { callId } = await gates.entered("talk-1");
    const early = await some(client.follow(callId), 6);
    expect(early).toEqual(beginning);
    const late = all(client.follow(callId, { afterSeq: 6 }));
    gates.open("talk-1");
    expect(await late).toEqual(["7 stdout last", "8 done"]);
    await ran;
    expect([executionId, running]).toEqual([callId, [...beginning, "7 stdout last", "8 done"]]);
    // After the end, from what was kept.
    expect(await all(client.follow(callId))).toEqual(running);
    expect(await all(client.follow(callId, { afterSeq: 8 }))).toEqual([]);
  });

  test("a call that failed ends with an error that carries its record", async () => {
    const followed = all(client.stream({ tool: "talk", input: { gate: "talk-2" } }));
    await gates.entered("talk-2");
    gates.fail("talk-2", new Error("no such order"));
    expect(await followed).toEqual([...beginning, "7 error"]);
  });

  test("a reader whose key is revoked in mid-call hears nothing that comes later, and learns why when it comes back", async () => {
    const key = await stack.makeKey({ principal: "service:reader", scopes: ["calls:read"] });
    const { body } = await stack.admin.invoke({ tool: "talk", input: { gate: "talk-3" }, mode: "async" });
    await gates.entered("talk-3");
    const heard: string[] = [];
    const reading = (async () => {
      for await (const event of createClient({ url: stack.url(), key: key.secret }).follow(body.execution_id ?? "")) heard.push(words(event));
    })();
    await expect.poll(() => heard).toEqual(beginning);
    await stack.admin.delete(`/v1/keys/${key.keyId}`);
    gates.open("talk-3");
    await expect(reading).rejects.toMatchObject({ code: "key_revoked" });
    expect(heard).toEqual(beginning);
    expect(await all(client.follow(body.execution_id ?? ""))).toEqual([...beginning, "7 stdout last", "8 done"]);
  });

  test("a browser that comes back after the end is told not to come again", async () => {
    const { body } = await stack.admin.invoke({ tool: "echo.beside", input: {} });
    const url = `${stack.url()}/v1/executions/${body.execution_id}/stream`;
    const headers = { authorization: `Bearer ${stack.adminKey}` };
    const heard = await (await fetch(url, { headers })).text();
    expect(heard.match(/^(id|event): .*/gm)).toEqual(["id: 1", "event: start", "id: 2", "event: done"]);
    expect((await fetch(url, { headers: { ...headers, "last-event-id": "1" } })).status).toBe(200);
  });
});

test("a call that waits for people says so, and goes on when they have decided", async () => {
  await stack.register(workerTool("asked", "1.0.0", { side_effect_class: "non_idempotent_write" }));
  await stack.startWorker("w-asked", [{ tool: "asked", handler: () => "it ran" }]);
  await stack.publish({ name: "ask-first", match: { tools: ["asked"] }, then: ask("finance") });
  const person = await stack.person("fin", "finance");
  const found: string[] = [];
  for await (const event of client.stream({ tool: "asked", input: {} })) {
    found.push(words(event));
    if (event.type === "approval") await person.rest.decide(event.data.approval_id, "approve");
  }
  expect(found).toEqual(["1 approval", "2 start", "3 done"]);
});

describe("who may follow", () => {
  test("one's own calls with the right to make them; another's is as unknown as none", async () => {
    const ann = await stack.makeKey({ principal: "user:ann", scopes: ["tools:invoke"], grants: ["*"] });
    const bo = await stack.makeKey({ principal: "user:bo", scopes: ["tools:invoke"], grants: ["*"] });
    const id = (await ann.rest.invoke({ tool: "echo.beside", input: {} })).body.execution_id ?? "";
    const asked = (secret: string, of: string) =>
      fetch(`${stack.url()}/v1/executions/${of}/stream`, {
        headers: { authorization: `Bearer ${secret}`, "x-request-id": "req_same" },
      });
    expect((await asked(ann.secret, id)).status).toBe(200);
    const foreign = await asked(bo.secret, id);
    const unknown = await asked(bo.secret, "exec_00000000000000000000000000");
    expect([foreign.status, await foreign.text()]).toEqual([unknown.status, await unknown.text()]);
    const reader = await stack.makeKey({ principal: "user:cy", scopes: ["calls:read"] });
    const none = await asked(reader.secret, "exec_00000000000000000000000000");
    const ill = await asked(reader.secret, "nothing");
    expect([none.status, await none.text()]).toEqual([404, await ill.text()]);
  });
});

describe("going away", () => {
  test.each([
    [true, "cancelled"],
    [false, "succeeded"],
  ])("with cancel_on_disconnect: %s the call ends %s", async (cancels, status) => {
    const gate = `gone-${status}`;
    const leaving = new AbortController();
    const followed = all(
      client.stream({ tool: "hold", input: { gate }, cancel_on_disconnect: cancels }, { signal: leaving.signal }),
    );
    followed.catch(() => undefined);
    const { callId, ctx } = await gates.entered(gate);
    leaving.abort();
    await expect(followed).rejects.toThrow();
    if (cancels) await expect.poll(() => ctx.signal.aborted, slowly).toBe(true);
    else gates.open(gate);
    await stack.admin.until(callId, [status]);
  });
});

describe("a flood", () => {
  /** Reads nothing until it is told to. */
  async function slowReader(id: string): Promise<{ readonly rest: () => Promise<string> }> {
    const answer = await fetch(`${stack.url()}/v1/executions/${id}/stream`, {
      headers: { authorization: `Bearer ${stack.adminKey}` },
    });
    return { rest: () => answer.text() };
  }

  test("is not slowed by a reader that does not read, which is told what it missed; the runtime keeps none of it", async () => {
    const pid = stack.runtime.process.pid ?? 0;
    const flood = async (): Promise<string> =>
      (await stack.admin.invoke({ tool: "flood", input: { chunks: 250 } })).body.execution_id ?? "";
    // What a process grows to once is not what it grows by.
    for (let count = 0; count < 3; count++) await flood();
    const before = residentBytes(pid);
    const gateId =
      (await stack.admin.invoke({ tool: "flood", input: { chunks: 250 }, mode: "async" })).body.execution_id ?? "";
    const reader = await slowReader(gateId);
    await stack.admin.until(gateId, ["succeeded"]);
    for (let count = 0; count < 9; count++) await flood();
    // More than 160 MB went by; a heap that is busy grows by some 100 MB once, and then no more.
    expect(residentBytes(pid) - before).toBeLessThan(128e6);
    const text = await reader.rest();
    expect(text.match(/^event: (done|error)$/gm)).toEqual(["event: done"]);
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
    expect(ids.at(-1)).toBe(252);
    expect(text).toContain("event: gap\n");
  }, 60_000);

  test("of one worker does not hold up the calls of another", async () => {
    await stack.register(workerTool("quick"));
    await stack.startWorker("w-quick", [{ tool: "quick", handler: () => "quick" }]);
    const flooding = Promise.all([1, 2].map(() => stack.admin.invoke({ tool: "flood", input: { chunks: 250 } })));
    let over = false;
    void flooding.then(() => (over = true));
    let count = 0;
    while (!over) {
      expect((await stack.admin.invoke({ tool: "quick", input: {} })).status).toBe(200);
      count++;
    }
    // Every one of them went through the runtime between two pieces of the flood.
    expect(count).toBeGreaterThan(3);
    for (const { status } of await flooding) expect(status).toBe(200);
  });
});

describe("the command line", () => {
  test("run --follow: output as it comes, remarks beside it, the result last", async () => {
    const running = stack.startCli(["run", "talk", "--follow", "--input", '{"gate":"cli-1"}']);
    await gates.entered("cli-1");
    await expect.poll(() => running.stderr(), slowly).toContain("event charged");
    expect(running.stdout()).toBe("out ");
    gates.open("cli-1");
    expect((await running.ended).code).toBe(0);
    expect(running.stdout()).toBe('out last\n{\n  "big": 98765432109876543210\n}\n');
    const id = gates.entries.at(-1)?.callId ?? "";
    const late = await stack.cli(["calls", "follow", id, "--after", "6", "--json"]);
    expect([late.code, late.out.split("\n").map((line) => line.slice(0, 25))]).toEqual([
      0,
      ['{"type":"stdout","seq":7,', '{"type":"done","seq":8,"t', ""],
    ]);
  });
});
