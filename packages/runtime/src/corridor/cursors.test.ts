// Cursors outside of the runtime: they lead on in their own list, and nowhere else.
import { expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { createSeal } from "../adapters/system/seal.ts";
import { pagingWith } from "./cursors.ts";

const paging = pagingWith(createSeal(Buffer.alloc(32, 3), "cursors"));
const acme = asked();
const other = asked({ tenant: "other" });

/** A list of one tenant's three things; its own cursor is a count. */
const three = async (cursor: string | undefined) => {
  const from = Number(cursor ?? "0");
  return { items: [`thing ${from}`], next: from < 2 ? String(from + 1) : undefined };
};

test("leads from page to page to the end", async () => {
  const first = await paging(acme, "calls", undefined, three);
  const second = await paging(acme, "calls", first.next, three);
  expect(await paging(acme, "calls", second.next, three)).toEqual({ items: ["thing 2"], next: undefined });
});

test("shows nothing of what the ledger counts by", async () => {
  const { next = "" } = await paging(acme, "calls", undefined, async () => ({ items: [], next: "4711" }));
  expect(next).not.toContain("4711");
  expect(Buffer.from(next, "base64url").toString("latin1")).not.toContain("4711");
});

test("is the same nothing for another tenant, another list, and for whoever made it up", async () => {
  const { next = "" } = await paging(acme, "calls", undefined, three);
  const never = async (): Promise<never> => {
    throw new Error("nothing is read");
  };
  const refused = await refusal(paging(other, "calls", next, never));
  expect(refused).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: "/cursor" }] } });
  for (const [by, list, cursor] of [
    [acme, "audit", next],
    [acme, "calls", `${next.slice(0, -2)}AA`],
    [acme, "calls", "1"],
    [acme, "calls", ""],
  ] as const)
    expect(await refusal(paging(by, list, cursor, never))).toEqual(refused);
});
