// Cursors as they leave the runtime: sealed, so that each is good for its own tenant and its own list, and tells nobody how a ledger counts.
import { SignalboxError } from "@signalbox/protocol";
import type { Page } from "../ledger/port.ts";
import type { Asked } from "../tenancy/types.ts";
import type { Seal } from "./webhook-ports.ts";

/**
 * Asks for a page and seals where the next one begins.
 * @param list keeps the cursors of different lists apart
 * @param cursor as the caller sent it
 * @param read gets the ledger's own cursor
 * @throws SignalboxError invalid_input for a cursor of another tenant, of another list, or of nobody: all alike
 */
export type Paging = <T>(
  asked: Asked,
  list: string,
  cursor: string | undefined,
  read: (cursor: string | undefined) => Promise<Page<T>>,
) => Promise<Page<T>>;

export function pagingWith(seal: Seal): Paging {
  return async ({ principal }, list, cursor, read) => {
    const about = [principal.tenant, list];
    const opened = cursor === undefined ? undefined : seal.open(about, cursor);
    if (cursor !== undefined && opened === undefined)
      throw new SignalboxError(
        "invalid_input",
        "the cursor is not one that this list gave out; start without a cursor",
        { details: { fields: [{ pointer: "/cursor", keyword: "format", message: "is not a cursor of this list" }] } },
      );
    const { items, next } = await read(opened);
    return { items, next: next === undefined ? undefined : seal.seal(about, next) };
  };
}
