// Says what a webhook may be: an address that can be posted to, and types of notices that exist.
import type { ApprovalNotice } from "../policy/approval/machine.ts";
import { webhookLimits } from "./webhook-limits.ts";

/** As a table, so that a type that the approval machine gains or loses is an error here. */
const known: Readonly<Record<ApprovalNotice["type"], true>> = {
  "approval.requested": true,
  "approval.voted": true,
  "approval.edited": true,
  "approval.approved": true,
  "approval.rejected": true,
  "approval.expired": true,
  "approval.cancelled": true,
  "approval.escalated": true,
};

/** Every type of notice that a webhook can ask for. */
export const noticeTypes: readonly string[] = Object.keys(known);

export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

const no = (problem: string): { readonly ok: false; readonly problem: string } => ({ ok: false, problem });

/** Gives the URL back as it will be dialled: the parser has resolved odd spellings of hosts (`http://127.1/`) by then. */
export function checkUrl(text: string): Checked<URL> {
  const { urlCharsMax } = webhookLimits;
  if (text.length > urlCharsMax) return no(`the url has ${text.length} characters; the limit is ${urlCharsMax}`);
  if (!URL.canParse(text)) return no("the url cannot be read; write it whole, like https://example.com/hooks/approvals");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return no(`the url begins with ${url.protocol}; only https: and http: are posted to`);
  // They would stand in the ledger and in lists in the clear; the signature is what proves the sender.
  if (url.username !== "" || url.password !== "") return no("the url holds a user or a password; leave them out and check the signature instead");
  if (url.hash !== "") return no(`the url ends in ${url.hash}, which is never sent; leave it out`);
  if (url.href.length > urlCharsMax) return no(`the url has ${url.href.length} characters once it is encoded; the limit is ${urlCharsMax}`);
  return { ok: true, value: url };
}

/** Without repeats; none = all. */
export function checkTypes(types: readonly string[]): Checked<readonly string[]> {
  const strange = types.find((type) => !noticeTypes.includes(type));
  if (strange !== undefined) return no(`there are no notices of type "${strange.slice(0, 64)}"; the types are ${noticeTypes.join(", ")}`);
  return { ok: true, value: [...new Set(types)] };
}
