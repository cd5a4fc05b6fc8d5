// Holds one answer against its row: status, code, type, whether a repeat may help, details, and what it names.
import { expect } from "vitest";
import type { Reply } from "../../support/rest.ts";
import type { ErrorCase, World } from "./case.ts";

const requestId = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;
const callId = /^exec_[0-9A-HJKMNP-TV-Z]{26}$/;

export async function meet(world: World, row: ErrorCase): Promise<void> {
  const answer = await row.reach(world);
  const { code, http, type, retryable } = row;
  const details = typeof row.details === "function" ? row.details(world) : row.details;
  const { error } = answer.body;
  expect({ http: answer.status, ...error }, answer.text).toMatchObject({ http, code, type, retryable, details });
  expect(error?.message).toMatch(/\S/);
  expect(answer.headers["x-request-id"]).toMatch(requestId);
  // What ended as its caller had it ended is a record, and no refusal of this request.
  if (http !== 200) expect(error?.request_id).toBe(answer.headers["x-request-id"]);
  expect(answer.headers["retry-after"]).toBe(row.retryAfter);
  if (world.door.name === "gRPC") expect(answer.headers["grpc-status"]).toBe(String(row.grpc));
  await meetRecord(world, row, answer);
}

/** The record says the same as the answer, to whoever comes back for it. */
async function meetRecord({ admin }: World, row: ErrorCase, { body }: Reply): Promise<void> {
  if (row.recorded === undefined) {
    expect(body.execution_id).toBeUndefined();
    return;
  }
  expect(body.execution_id).toMatch(callId);
  if (row.type === "conflict") return;
  const { code, type, retryable } = row;
  expect((await admin.call(body.execution_id)).error).toMatchObject({ code, type, retryable });
}
