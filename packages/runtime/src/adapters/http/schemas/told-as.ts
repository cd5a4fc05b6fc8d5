// How the API's document tells a schema whose form on the wire is not what it stands for, or that JSON Schema has no words for.
import { z } from "zod";

/** JSON Schema 2020-12, as data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A number in a query is text to the schema that checks it, and a number to whoever reads the document. What is
 * registered here stands in the document in place of what would be derived; copies (`describe`, `optional`) inherit it.
 */
export const toldAs = z.registry<{ readonly schema: JsonSchema }>();
