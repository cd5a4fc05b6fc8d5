// Which JSON Schema dialect a schema is read as: the two that are built in, chosen by rule, nothing fetched.
import { refuse, shown, warn, type Notes } from "../../document/problems.ts";
import type { Dialect } from "./keywords.ts";

export const metaSchemaIds: Readonly<Record<Dialect, string>> = {
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
  "draft-07": "http://json-schema.org/draft-07/schema",
};

/** The dialect whose meta-schema an address names; `http`, `https` and a trailing `#` make no difference. */
export function dialectOfAddress(address: string): Dialect | undefined {
  const plain = address.replace(/#$/, "").replace(/^https:/, "http:");
  if (plain === metaSchemaIds["draft-07"]) return "draft-07";
  return plain === metaSchemaIds["2020-12"].replace(/^https:/, "http:") ? "2020-12" : undefined;
}

/** No `$schema`, and every unknown one, is 2020-12. */
export function dialectOf(address: unknown, path: string, notes: Notes): Dialect {
  if (address === undefined) return "2020-12";
  if (typeof address !== "string") {
    refuse(notes, `${path}#/$schema`, `must be text, not ${shown(address)}`);
    return "2020-12";
  }
  const known = dialectOfAddress(address);
  if (known === undefined)
    warn(notes, `${path}#/$schema`, `${shown(address)} is not built in; the schema is read as 2020-12`);
  return known ?? "2020-12";
}
