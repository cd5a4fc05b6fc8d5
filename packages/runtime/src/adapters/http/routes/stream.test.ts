// Following a call over HTTP: events as they come, coming back, going away, slow readers, and a door that closes.
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor, postHead, type OpenDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedAt, scriptedCall, scriptedCallId } from "../../../../../../test/support/scripted-call.ts";
import type { CallFollower, Service } from "../../../service.ts";
import type { Batch, StreamEvent } from "../../../stream/types.ts";

const path = `/v1/executions/${scriptedCallId}/stream`;
const empty: Batch = { gap: null, events: [], end: null, leaving: false };
const said = (seq: number, text = "x"): StreamEvent => ({
  seq,
  at: scriptedAt,
  type: "stdout",
  dataJson: JSON.stringify({ text }),
});
const end = { seq: 3, at: scriptedAt, call: scriptedCall() };

/** A call in the test's hands: what is pushed comes next, and what the door does with its follower is told. */
class Followed {
  readonly words: string[] = [];
  asked = 0;
  #batches: Batch[] = [];
  #wake: () => void = () => {};
  #closed = false;

  push(batch: Partial<Batch>): void {
    this.#batches.push({ ...empty, ...batch });
    this.#wake();
  }

  get follower(): CallFollower {
    return {
      over: false,
      next: async () => {
        this.asked++;
        for (;;) {
          const batch = this.#batches.shift();
          if (batch !== undefined) return batch;
          if (this.#closed) return empty;
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
      },
      close: () => {
        this.words.push("close");
        this.#closed = true;
        this.#wake();
      },
      abandon: () => void this.words.push("abandon"),
    };
  }
}

async function following(replaced: Partial<Service> = {}): Promise<{ door: OpenDoor; followed: Followed }> {
  const followed = new Followed();
  const door = await openDoor({ follow: async () => followed.follower, ...replaced });
  return { door, followed };
}

const get = (headers = ""): string =>
  `GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer alice-token\r\n${headers}\r\n`;

describe("reading", () => {
  test("events in order, then the record with every digit, then the end of the answer", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", path);
    expect(heard.status).toBe(200);
    expect(heard.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(heard.headers.get("cache-control")).toBe("no-store");
    expect(heard.headers.get("x-accel-buffering")).toBe("no");
    const [hello, start, stdout, done, rest] = heard.text.split("\n\n");
    expect(hello).toBe("retry: 1000");
    expect(start).toBe(
      'id: 1\nevent: start\ndata: {"seq":1,"ts":"2026-01-02T03:04:05.002Z","data":{"sandbox":"application","worker":"wrk_1","attempt":1}}',
    );
    expect(stdout).toBe(
      'id: 2\nevent: stdout\ndata: {"seq":2,"ts":"2026-01-02T03:04:05.010Z","data":{"text":"half way\\n"}}',
    );
    expect(done).toMatch(
      /^id: 3\nevent: done\ndata: \{"seq":3,"ts":"2026-01-02T03:04:05.030Z","data":\{"execution_id":"exec_/,
    );
    expect(done).toContain('"output":{"n":9007199254740993}');
    expect(rest).toBe("");
  });

  test("the reader is heard at once, and what comes later comes when it comes", async () => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.send(get());
    await wire.until("retry: 1000\n\n");
    followed.push({ events: [said(1, "first")] });
    await wire.until('{"text":"first"}');
    followed.push({ gap: { from: 2, to: 8 }, events: [said(9)], end });
    expect(await wire.until("event: done")).toContain(
      'id: 8\nevent: gap\ndata: {"from":2,"to":8}\n\nid: 9\nevent: stdout\n',
    );
    expect(followed.words).toEqual(["close"]);
  });

  test("a connection on which nothing happens gets comments", async () => {
    const { door, followed } = await following();
    for (let count = 0; count < 3; count++) followed.push({});
    followed.push({ end });
    expect((await door.ask("GET", path)).text.match(/^: nothing new$/gm)).toHaveLength(3);
  });

  test.each([
    ["failed", { code: "tool_error", message: "no", type: "tool", retryable: false }],
    ["cancelled", { code: "cancelled", message: "stopped", type: "cancelled", retryable: false }],
  ] as const)("a call that %s ends with its error", async (state, error) => {
    const { door, followed } = await following();
    followed.push({ end: { ...end, call: scriptedCall({ state, error, outputJson: null }) } });
    const [, data = ""] = /event: error\ndata: (.*)/.exec((await door.ask("GET", path)).text) ?? [];
    expect(JSON.parse(data)).toMatchObject({ seq: 3, data: { status: state, error: { code: error.code } } });
  });
});

describe("coming back", () => {
  const askedAfter = async (query: string, headers: Record<string, string>): Promise<unknown[]> => {
    const door = await openDoor();
    await door.ask("GET", `${path}${query}`, { headers });
    return door.service.reached.filter(({ method }) => method === "follow").map(({ args }) => args[1]);
  };

  test.each<[string, string, Record<string, string>, number]>([
    ["from the beginning", "", {}, 0],
    ["by query", "?after_seq=2", {}, 2],
    ["by header, as browsers do", "", { "last-event-id": "1" }, 1],
    ["by an empty header", "?after_seq=1", { "last-event-id": "" }, 1],
    ["by both: a browser's own number is the newer one", "?after_seq=1", { "last-event-id": "2" }, 2],
  ])("%s", async (_, query, headers, after) => {
    expect(await askedAfter(query, headers)).toEqual([after]);
  });

  test("who has everything is told not to come again", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", path, { headers: { "last-event-id": "3" } });
    expect([heard.status, heard.text]).toEqual([204, ""]);
    // The connection is still good.
    expect((await door.ask("GET", path)).status).toBe(200);
  });

  test.each([
    ["?after_seq=-1", {}],
    ["?after_seq=x", {}],
    ["?after_seq=1&after_seq=2", {}],
    ["?after=1", {}],
    ["", { "last-event-id": "abc" }],
    ["", { "last-event-id": "9999999999999999" }],
  ] as [string, Record<string, string>][])("%s %o is refused", async (query, headers) => {
    const door = await openDoor();
    const heard = await door.ask("GET", `${path}${query}`, { headers });
    expect([heard.status, heard.json]).toMatchObject([400, { error: { code: "invalid_input" } }]);
  });
});

describe("who may", () => {
  test("an unknown id, a foreign one and one that is none are answered with the same bytes", async () => {
    const door = await openDoor();
    const asked = ["alice-token", "bob-token", "alice-token"].map((token, at) => {
      const id = [scriptedCallId.replace(/.$/, "1"), scriptedCallId, "no-id!"][at];
      return door.ask("GET", `/v1/executions/${id}/stream`, { token, headers: { "x-request-id": "req_1" } });
    });
    const heard = await Promise.all(asked);
    expect(heard.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(new Set(heard.map(({ text }) => text)).size).toBe(1);
  });

  test("no credential, or one that may neither call nor read calls", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", path, { token: null })).status).toBe(401);
    const heard = await door.ask("GET", path, { token: "vic-token" });
    expect([heard.status, heard.json]).toMatchObject([
      403,
      { error: { details: { any_of: ["calls:read", "tools:invoke"] } } },
    ]);
    expect(door.service.reached.map(({ method }) => method)).not.toContain("follow");
  });

  test.each(["POST", "PUT", "DELETE"])("%s is not taken", async (method) => {
    const door = await openDoor();
    const heard = await door.ask(method, path);
    expect([heard.status, heard.json]).toMatchObject([
      404,
      { error: { code: "route_not_found", details: { allowed_methods: ["GET"] } } },
    ]);
  });

  test("HEAD is not taken, and opens no stream", async () => {
    const door = await openDoor();
    const answer = await fetch(`http://127.0.0.1:${door.port}${path}`, {
      method: "HEAD",
      headers: { authorization: "Bearer alice-token" },
    });
    expect(answer.status).toBe(404);
    expect(door.service.reached.map(({ method }) => method)).not.toContain("follow");
  });
});

describe("going away", () => {
  test("closes the follower, and the call goes on", async () => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.send(get());
    await wire.until("retry");
    wire.socket.destroy();
    await expect.poll(() => followed.words).toEqual(["close"]);
  });

  test("also for a reader that had stopped reading", async () => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.socket.pause();
    wire.send(get());
    const large = "x".repeat(200_000);
    for (let seq = 1; seq <= 200; seq++) followed.push({ events: [said(seq, large)] });
    await expect.poll(() => followed.asked).toBeGreaterThan(1);
    wire.socket.destroy();
    await expect.poll(() => followed.words).toEqual(["close"]);
  });

  test("a reader that does not read is asked for nothing more: what waits for it is bounded", async () => {
    const { door, followed } = await following();
    const socket = connect(door.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.pause();
    socket.write(get());
    const large = "x".repeat(200_000);
    for (let seq = 1; seq <= 500; seq++) followed.push({ events: [said(seq, large)] });
    followed.push({ end: { ...end, seq: 501 } });
    // What one loopback connection holds between two processes is some megabytes; these are a hundred.
    await expect.poll(() => followed.asked).toBeGreaterThan(1);
    for (let turns = 0; turns < 500; turns++) await new Promise((resolve) => void setImmediate(resolve));
    expect(followed.asked).toBeLessThan(100);
    let bytes = 0;
    socket.on("data", (chunk) => (bytes += chunk.length)).resume();
    await expect.poll(() => followed.asked, { timeout: 10_000 }).toBe(501);
    await expect.poll(() => bytes).toBeGreaterThan(100_000_000);
  });

  test("a reader whose key has ended is let go of without an end of the call, which it does not cancel; nothing is logged as a fault", async () => {
    const followed = new Followed();
    let count = 0;
    const refusing: CallFollower = {
      ...followed.follower,
      next: async () => {
        if (++count > 1) throw new SignalboxError("key_revoked", "the API key was revoked; ask for a new one");
        return { ...empty, events: [said(1)] };
      },
    };
    const door = await openDoor({ follow: async () => refusing });
    const wire = door.wire();
    wire.send(posted(',"cancel_on_disconnect":true'));
    const all = await wire.until("0\r\n\r\n");
    expect(all.match(/^(id|event): .*/gm)).toEqual(["id: 1", "event: stdout"]);
    expect(all).not.toContain("revoked");
    expect([count, followed.words]).toEqual([2, ["close"]]);
    expect(await door.line(({ route }) => route === "/v1/executions")).toMatchObject({ level: "info" });
  });

  test("a fault of ours breaks the answer off in the middle, is logged, and cancels nothing", async () => {
    const followed = new Followed();
    let count = 0;
    const failing: CallFollower = {
      ...followed.follower,
      next: async () => {
        if (++count > 1) throw new Error("the store is away");
        return { ...empty, events: [said(1)] };
      },
    };
    const door = await openDoor({ follow: async () => failing });
    const wire = door.wire();
    wire.send(posted(',"cancel_on_disconnect":true'));
    const all = await wire.closed();
    expect(all).toContain("id: 1\n");
    // The last chunk of a chunked body is what says that it is whole.
    expect(all.endsWith("0\r\n\r\n")).toBe(false);
    expect(followed.words).toEqual(["close"]);
    expect(await door.line(({ level }) => level === "error")).toMatchObject({
      message: "a stream broke off",
      route: "/v1/executions",
    });
  });
});

const bodyWith = (more: string): string => `{"tool":"echo","input":{},"stream":true${more}}`;

function posted(more: string): string {
  const body = bodyWith(more);
  return postHead("/v1/executions", "Content-Type: application/json", `Content-Length: ${body.length}`) + body;
}

describe("invoking with a stream", () => {
  test("answers with the call's events in place of its record; the call is admitted without a wait", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/executions", { body: bodyWith("") });
    expect([heard.status, heard.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(heard.text).toContain("event: done\n");
    const [invoked, followed] = door.service.reached.filter(({ method }) => method === "invoke" || method === "follow");
    expect(invoked?.args[0]).toMatchObject({ tool: "echo", mode: "async" });
    expect(followed?.args.slice(1)).toEqual([0, { answering: true }]);
  });

  test("a refusal is a plain error", async () => {
    const door = await openDoor({
      invoke: async () => {
        throw new SignalboxError("forbidden", "no grant");
      },
    });
    const heard = await door.ask("POST", "/v1/executions", { body: bodyWith("") });
    expect([heard.status, heard.json]).toMatchObject([403, { error: { code: "forbidden" } }]);
  });

  test.each([
    ["cancels the call of who asked for that", ',"cancel_on_disconnect":true', ["abandon", "close"]],
    ["cancels nothing otherwise", "", ["close"]],
  ])("going away %s", async (_, more, words) => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.send(posted(more));
    await wire.until("retry");
    wire.socket.destroy();
    await expect.poll(() => followed.words).toEqual(words);
  });

  test("after the end nobody has gone away", async () => {
    const { door, followed } = await following();
    followed.push({ end });
    await door.ask("POST", "/v1/executions", { body: bodyWith(',"cancel_on_disconnect":true') });
    expect(followed.words).toEqual(["close"]);
  });
});

describe("a door that closes", () => {
  test("lets streams end that the runtime ends, and does not hang on them", async () => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.send(posted(',"cancel_on_disconnect":true'));
    await wire.until("retry");
    const closed = door.close(60_000);
    followed.push({ leaving: true });
    await closed;
    const all = await wire.closed();
    expect(all).toContain(": the runtime leaves");
    expect(all.endsWith("0\r\n\r\n")).toBe(true);
    expect(followed.words).toEqual(["close"]);
  });

  test("cuts a reader that does not go", async () => {
    const { door, followed } = await following();
    const wire = door.wire();
    wire.send(get());
    await wire.until("retry");
    await door.close(20);
    await expect.poll(() => followed.words).toEqual(["close"]);
  });
});
