// Every bound on what a request may say: exactly that much reaches the runtime, and one more is refused by its place.
import { describe, expect, test } from "vitest";
import { openDoor, type Heard, type OpenDoor } from "../../../../../test/support/http-door.ts";
import { scriptedApprovalId } from "../../../../../test/support/scripted-governance.ts";

interface Asked {
  readonly path: string;
  readonly method?: "GET" | "PUT";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const text = (size: number): string => "a".repeat(size);
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const invoking =
  (more: (size: number) => object, headers?: (size: number) => Readonly<Record<string, string>>) =>
  (size: number): Asked => ({
    path: "/v1/executions",
    body: { tool: "echo", input: {}, ...more(size) },
    ...(headers === undefined ? {} : { headers: headers(size) }),
  });
const giving = (more: (size: number) => object) => (size: number): Asked => ({
  path: "/v1/grants",
  body: { subject: "user:ann", permissions: ["tool:invoke:echo"], ...more(size) },
});
const listing = (path: (size: number) => string) => (size: number): Asked => ({ path: path(size), method: "GET" });
const hooking = (more: (size: number) => object) => (size: number): Asked => ({
  path: "/v1/webhooks",
  body: { url: "https://example.com", ...more(size) },
});
/** An object whose JSON has exactly so many bytes, with one character that takes two of them. */
const objectOf = (bytes: number): object => ({ k: `é${text(bytes - '{"k":"é"}'.length - 1)}` });
const windows = (count: number): object => Object.fromEntries(times(count, (at) => [`${at + 1}s`, 1]));

function ask(door: OpenDoor, { path, method, body, headers }: Asked): Promise<Heard> {
  const sent = { ...(body === undefined ? {} : { body: JSON.stringify(body) }), ...(headers === undefined ? {} : { headers }) };
  return door.ask(method ?? "POST", path, sent);
}

describe("sizes", () => {
  test.each<[string, number, (size: number) => Asked, string]>([
    ["nameCharsMax", 128, invoking((size) => ({ tool: text(size) })), "/tool"],
    ["idempotencyKeyCharsMax, in the body", 255, invoking((size) => ({ idempotency_key: text(size) })), "/idempotency_key"],
    [
      "idempotencyKeyCharsMax, in the header",
      255,
      invoking(
        () => ({}),
        (size) => ({ "idempotency-key": text(size) }),
      ),
      "/Idempotency-Key",
    ],
    ["contextBytesMax", 16_384, invoking((size) => ({ context: objectOf(size) })), "/context"],
    ["syncWaitMsMax", 300_000, invoking((size) => ({ wait_ms: size })), "/wait_ms"],
    ["resolveManyMax", 500, (size: number): Asked => ({ path: "/v1/executions:resolve", body: { filter: {}, verdict: "fail", limit: size } }), "/limit"],
    ["totalDeadlineMsMax", 2_678_400_000, invoking((size) => ({ deadline_ms: size })), "/deadline_ms"],
    [
      "filesPerCallMax",
      1_000,
      invoking((size) => ({ files: times(size, (at) => ({ path: `f${at}`, content: "" })) })),
      "/files",
    ],
    [
      "pathBytesMax",
      1_024,
      invoking((size) => ({ files: [{ path: text(size), content: "" }] })),
      "/files/0/path",
    ],
    ["permissionsMax", 200, giving((size) => ({ permissions: times(size, (at) => `tool:invoke:t${at}`) })), "/permissions"],
    [
      "permissionCharsMax",
      512,
      giving((size) => ({ permissions: [`fs:read:/${text(size - 9)}`] })),
      "/permissions/0",
    ],
    ["rolesMax", 50, giving((size) => ({ roles: times(size, (at) => `r${at}`) })), "/roles"],
    [
      "reasonCharsMax",
      500,
      (size) => ({ path: "/v1/tools/echo/quarantine", body: { reason: text(size) } }),
      "/reason",
    ],
    [
      "commentCharsMax",
      1_000,
      (size) => ({
        path: `/v1/approvals/${scriptedApprovalId}/votes`,
        body: { decision: "approve", args_hash: "h", comment: text(size) },
      }),
      "/comment",
    ],
    [
      "errorMessageCharsMax, of a person's word on an unknown end",
      2_000,
      (size) => ({
        path: "/v1/executions/exec_01KDY7MFG80000000000000000/resolve",
        body: { verdict: "fail", comment: text(size) },
      }),
      "/comment",
    ],
    ["searchCharsMax", 200, listing((size) => `/v1/tools?search=${text(size)}`), "/search"],
    ["labelFilterCharsMax", 300, listing((size) => `/v1/tools?label=${text(size)}`), "/label"],
    ["cursorCharsMax", 1_024, listing((size) => `/v1/tools?cursor=${text(size)}`), "/cursor"],
    ["urlCharsMax", 2_048, hooking((size) => ({ url: `https://example.com/${text(size - 20)}` })), "/url"],
    ["noticeTypesMax", 32, hooking((size) => ({ types: times(size, (at) => `t${at}`) })), "/types"],
    [
      "policiesTriedMax",
      100,
      (size) => ({ path: "/v1/policies:test", body: { cases: [], policies: times(size, () => ({})) } }),
      "/policies",
    ],
    [
      "countWindowsMax",
      32,
      (size) => ({ path: "/v1/policies:explain", body: { tool: "echo", counts: { windows: windows(size) } } }),
      "/counts/windows",
    ],
    [
      "filesMax of a package",
      2_000,
      (size) => ({
        path: "/v1/packages",
        method: "PUT",
        body: { files: times(size, (at) => ({ path: `f${at}`, mode: "0644", ref: `sha256:${"0".repeat(64)}` })) },
      }),
      "/files",
    ],
  ])("%s", async (_name, most, make, pointer) => {
    const door = await openDoor();
    const taken = await ask(door, make(most));
    expect(taken.text).not.toContain('"invalid_input"');
    expect(taken.status).toBeLessThan(300);
    const refused = await ask(door, make(most + 1));
    expect(refused.status).toBe(400);
    expect(refused.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  });

  test("jsonDepthMax: 64 levels reach the runtime, one more is refused with its place", async () => {
    const door = await openDoor();
    // The body is a level of its own.
    const body = (levels: number): string =>
      `{"tool":"echo","input":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    const send = (levels: number) => door.ask("POST", "/v1/executions", { body: body(levels) });
    expect((await send(64)).status).toBe(200);
    const refused = await send(65);
    expect([refused.status, refused.json]).toMatchObject([
      400,
      { error: { code: "invalid_input", details: { reason: "too_deep" } } },
    ]);
  });

  test("faultsMax: of 20 faults all are named, of more the rest is counted", async () => {
    const door = await openDoor();
    const told = async (faults: number): Promise<unknown> => {
      const unknown = Object.fromEntries(times(faults, (at) => [`x${at}`, 1]));
      const { json } = await ask(door, { path: "/v1/executions", body: { tool: "echo", input: {}, ...unknown } });
      const { details } = (json as { error: { details: { fields: unknown[]; more_faults?: number } } }).error;
      return [details.fields.length, details.more_faults];
    };
    expect(await told(20)).toEqual([20, undefined]);
    expect(await told(21)).toEqual([20, 1]);
  });

  test("headerBytesMax: headers of 16 KiB are read, longer ones are refused", async () => {
    const head = (bytes: number): string => {
      const rest = "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\nX-Long: \r\n\r\n";
      return rest.replace("X-Long: ", `X-Long: ${text(bytes - rest.length)}`);
    };
    const answered = async (bytes: number): Promise<string> => {
      const wire = (await openDoor()).wire();
      wire.send(head(bytes));
      return (await wire.closed()).slice(0, 12);
    };
    // The parser counts the parts between the separators: what is far below passes, what is over does not.
    expect(await answered(16_384)).toBe("HTTP/1.1 200");
    expect(await answered(16_384 + 64)).toBe("HTTP/1.1 400");
  });
});

describe("lists", () => {
  test("listItemsDefault and listItemsMax: 25 where nobody says, as many as asked for up to 100, and 100 for more", async () => {
    const door = await openDoor();
    for (const query of ["", "?limit=100", "?limit=101", "?limit=1"]) await ask(door, { path: `/v1/tools${query}`, method: "GET" });
    const limits = door.service.reached.filter(({ method }) => method === "listTools").map(({ args }) => args[0]);
    expect(limits).toEqual([25, 100, 100, 1]);
  });
});

describe("waits", () => {
  test("streamAliveMs: a stream is asked for a sign of life every 15 s", async () => {
    const waits: number[] = [];
    const door = await openDoor({
      follow: async () => ({
        over: false,
        next: async (ms) => {
          waits.push(ms);
          return { gap: null, events: [], end: null, leaving: waits.length > 1 };
        },
        close: () => undefined,
        abandon: () => undefined,
      }),
    });
    const { text: told } = await door.ask("GET", "/v1/executions/exec_01KDY7MFG80000000000000000/stream");
    expect(waits).toEqual([15_000, 15_000]);
    expect(told).toContain(":");
  });

  test("keepAliveMs: an idle connection is kept for 72 s, and that is said", async () => {
    const door = await openDoor();
    const wire = door.wire();
    wire.send("GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: keep-alive\r\n\r\n");
    expect(await wire.until('{"status":"ok"}')).toMatch(/\r\nKeep-Alive: timeout=72\r\n/i);
  });

  test("connectionsMax: one connection more than that is closed at once", async () => {
    const door = await openDoor({}, { bounds: { connectionsMax: 2 } });
    const kept = [door.wire(), door.wire()];
    for (const wire of kept) {
      wire.send("GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n");
      await wire.until('{"status":"ok"}');
    }
    expect(await door.wire().closed()).toBe("");
  });
});
