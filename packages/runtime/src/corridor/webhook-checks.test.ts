// Which addresses and types a webhook may have.
import { expect, test } from "vitest";
import { checkTypes, checkUrl, noticeTypes } from "./webhook-checks.ts";

test.each([
  ["https://example.com/hooks?team=a", "https://example.com/hooks?team=a"],
  ["http://example.com:8080", "http://example.com:8080/"],
  ["https://BÜCHER.example/ä", "https://xn--bcher-kva.example/%C3%A4"],
  // Other spellings of an address are written out, so that nobody is misled by a list.
  ["http://2130706433/", "http://127.0.0.1/"],
  ["http://0x7f.1/", "http://127.0.0.1/"],
  ["http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"],
  [`https://example.com/${"a".repeat(2_028)}`, `https://example.com/${"a".repeat(2_028)}`],
])("%s is taken, as %s", (text, href) => {
  const checked = checkUrl(text);
  expect(checked.ok && checked.value.href).toBe(href);
});

test.each([
  ["", /cannot be read/],
  ["example.com/hooks", /cannot be read/],
  ["//example.com", /cannot be read/],
  ["http://exa mple.com", /cannot be read/],
  ["ftp://example.com", /only https: and http:/],
  ["file:///etc/passwd", /only https: and http:/],
  ["javascript:alert(1)", /only https: and http:/],
  ["https://user@example.com", /user or a password/],
  ["https://:secret@example.com", /user or a password/],
  ["https://example.com/#part", /#part, which is never sent/],
  [`https://example.com/${"a".repeat(2_029)}`, /2049 characters; the limit is 2048/],
  // Short as it is written, too long as it is sent.
  [`https://example.com/${"ä".repeat(1_000)}`, /6020 characters once it is encoded/],
])("%s is refused", (text, problem) => {
  expect(checkUrl(text)).toEqual({ ok: false, problem: expect.stringMatching(problem) as string });
});

test("a refusal does not repeat a password", () => {
  expect(JSON.stringify(checkUrl("https://user:hunter2@example.com"))).not.toContain("hunter2");
});

test("types are those of approvals, each once; none stands for all", () => {
  expect(noticeTypes).toEqual([
    "approval.requested",
    "approval.voted",
    "approval.edited",
    "approval.approved",
    "approval.rejected",
    "approval.expired",
    "approval.cancelled",
    "approval.escalated",
  ]);
  expect(checkTypes([])).toEqual({ ok: true, value: [] });
  expect(checkTypes(["approval.voted", "approval.requested", "approval.voted"])).toEqual({ ok: true, value: ["approval.voted", "approval.requested"] });
  expect(checkTypes(["approval.requested", "approval.*"])).toEqual({ ok: false, problem: expect.stringContaining('no notices of type "approval.*"; the types are approval.requested,') as string });
  expect(checkTypes(["toString"])).toMatchObject({ ok: false });
});
