// What every replica reads and nothing in these runs changes: a tool, keys, grants and rules, published once through the real service.
import type { PolicyVersion } from "../../packages/runtime/src/policy/types.ts";
import type { ToolRecord, ToolVersion } from "../../packages/runtime/src/registry/types.ts";
import type { Grant, Key } from "../../packages/runtime/src/tenancy/types.ts";
import { Governed } from "../support/governed.ts";
import { documentsOf, houses, people, requester, type House } from "./rules.ts";

export interface Books {
  readonly house: House;
  readonly tool: ToolRecord;
  readonly version: ToolVersion;
  readonly keys: readonly Key[];
  readonly grants: readonly Grant[];
  readonly policies: readonly PolicyVersion[];
}

/** The rules of this house, and what the requester needs. */
export async function furnish(governed: Governed, house: House): Promise<void> {
  for (const rule of documentsOf(house)) await governed.policy(rule);
  if (requester !== "user:ann") throw new Error("the furnished corridor knows user:ann only");
}

/** @param wanted only these houses; each takes a database of its own for a moment */
export async function publishedBooks(wanted: readonly House[] = houses): Promise<readonly Books[]> {
  const books: Books[] = [];
  for (const house of wanted) {
    const governed = await Governed.open();
    try {
      await furnish(governed, house);
      const { ledger } = governed;
      const [tool, version] = [await ledger.tool("acme", "pay"), await ledger.toolVersion("acme", "pay", "1.0.0")];
      if (tool === undefined || version === undefined) throw new Error("the tool was not registered");
      books.push({
        house,
        tool,
        version,
        keys: await ledger.keys("acme"),
        grants: await ledger.grants("acme"),
        policies: await ledger.policies(),
      });
    } finally {
      await governed.close();
    }
  }
  return books;
}

/** Roles by key: whoever is asked who they are says so. */
export function rolesOf(person: string): readonly string[] {
  return people[person] ?? [];
}
