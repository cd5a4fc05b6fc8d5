// Ids of sessions that calls run.
import { expect, test } from "vitest";
import { sha256 } from "../../adapters/system/crypto.ts";
import { childSessionId } from "./child-id.ts";

const call = "sess_0123456789ABCDEFGHJKMNPQRS:agv_1:t1.1:0";

test("equal calls always give the equal id, today and after any release", () => {
  expect(childSessionId(sha256, "acme", call)).toBe("sess_2BQ903RJWTQDTWY3PH587FBG0X");
  expect(childSessionId(sha256, "acme", call)).toMatch(/^sess_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
});

test("other calls, and other tenants' calls of the same name, give other ids", () => {
  const ids = [
    childSessionId(sha256, "acme", call),
    childSessionId(sha256, "umbrella", call),
    childSessionId(sha256, "acme", `${call.slice(0, -1)}1`),
    childSessionId(sha256, "acme", call.replace("t1.1", "t1.2")),
  ];
  expect(new Set(ids).size).toBe(4);
});
