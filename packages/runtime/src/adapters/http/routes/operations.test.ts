// The routes for whoever runs the runtime.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";

describe("audit", () => {
  test("filters reach the runtime; a record shows what it has and leaves out what it lacks", async () => {
    const door = await openDoor();
    const heard = await door.ask(
      "GET",
      "/v1/audit?principal=user:alice&action=key.created&execution_id=exec_1&from=2026-01-02T03:04:05Z&to=2026-01-02T03:04:06Z&limit=5&cursor=c",
    );
    expect(heard.json).toEqual({
      items: [
        {
          lane: "r1",
          seq: 1,
          ts: "2026-01-02T03:04:05.000Z",
          tenant: "acme",
          project: "default",
          principal: "user:alice",
          action: "key.created",
          prev_hash: "0000000000000000000000000000000000000000000000000000000000000000",
          hash: "h1",
        },
      ],
      next_cursor: null,
    });
    const filter = {
      principal: "user:alice",
      action: "key.created",
      executionId: "exec_1",
      from: 1_767_323_045_000,
      to: 1_767_323_046_000,
    };
    expect(door.service.reached[1]?.args).toEqual([filter, 5, "c"]);
  });

  test("a tenant cannot be chosen", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/audit?tenant=beta")).status).toBe(400);
  });

  test("verification is 200 whatever it finds", async () => {
    const problem = {
      tenant: "acme",
      lane: "r1",
      seq: 3,
      kind: "edited",
      message: "seq 3 does not follow from seq 2",
    } as const;
    const door = await openDoor({
      verifyAudit: async () => ({ ok: false, records: 7, lanes: 1, problems: [problem] }),
    });
    const heard = await door.ask("POST", "/v1/audit:verify");
    expect([heard.status, heard.json]).toEqual([200, { ok: false, records: 7, lanes: 1, problems: [problem] }]);
  });
});

test("workers", async () => {
  const door = await openDoor();
  expect((await door.ask("GET", "/v1/workers")).json).toEqual({
    items: [
      {
        worker_id: "wrk_1",
        incarnation: "inc_1",
        state: "ready",
        capacity: 8,
        holding: 1,
        handlers: [{ tool: "echo", version: "1.2.0", max_concurrency: 8 }],
        boxes: ["native"],
        connected_at: "2026-01-02T03:04:05.000Z",
        last_heard_at: "2026-01-02T03:04:06.000Z",
      },
    ],
    next_cursor: null,
  });
});

test("status", async () => {
  const door = await openDoor();
  expect((await door.ask("GET", "/v1/status")).json).toEqual({
    version: "0.1.0",
    replica: "r1",
    started_at: "2026-01-02T03:04:05.000Z",
    ready: true,
    draining: false,
    reasons: [],
    calls: { queued: 2 },
    workers: 1,
  });
});
