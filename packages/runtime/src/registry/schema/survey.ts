// Looks a schema over before anything compiles it: caps, keywords, references; all problems, no recursion that input could deepen.
import { limits, utf8Bytes } from "@signalbox/protocol";
import { bounds } from "../bounds.ts";
import { shapeProblem } from "../../document/json-shape.ts";
import { didYouMean, editDistance } from "../../document/nearest.ts";
import { isRecord, refuse, shown, warn, type Notes } from "../../document/problems.ts";
import { foreignDialect, keywordKind, misspeltKeyword, subschemasOf, typeNames, type Dialect } from "./keywords.ts";
import { dialectOf } from "./dialects.ts";
import { formatNames } from "./format-names.ts";
import { pointerText, resolveReferences, type References, type SchemaPlace } from "./references.ts";

/** A schema that may be compiled. */
export interface Survey {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly dialect: Dialect;
  readonly references: References;
  /** Every subschema by its pointer. */
  readonly places: ReadonlyMap<string, SchemaPlace>;
}

interface Walk {
  readonly notes: Notes;
  readonly path: string;
  readonly dialect: Dialect;
  readonly places: Map<string, SchemaPlace>;
  branches: number;
  patterns: number;
}

/**
 * @param path where the schema stands in its document, like `spec.input`
 * @returns undefined when there are problems
 */
export function surveySchema(schema: unknown, path: string, notes: Notes): Survey | undefined {
  const before = notes.problems.length;
  if (!isRecord(schema)) {
    refuse(notes, path, `must be a JSON Schema object, not ${shown(schema)}`);
    return undefined;
  }
  const shape = shapeProblem(schema, { depthMax: limits.schemaDepthMax, valuesMax: bounds.schemaValuesMax });
  if (shape !== undefined) {
    refuse(
      notes,
      placeIn(path, shape.keys.map(String)),
      shape.message,
      "split deep or wide schemas with $defs and $ref",
    );
    return undefined;
  }
  const bytes = utf8Bytes(JSON.stringify(schema));
  if (bytes > limits.schemaBytesMax) {
    refuse(notes, path, `is ${bytes} bytes of JSON; at most ${limits.schemaBytesMax} are accepted`);
    return undefined;
  }
  const dialect = dialectOf(schema["$schema"], path, notes);
  const walk: Walk = { notes, path, dialect, places: new Map(), branches: 0, patterns: 0 };
  surveyNode(walk, schema, []);
  if (walk.places.size > bounds.schemaNodesMax)
    refuse(notes, path, `has more than ${bounds.schemaNodesMax} subschemas`);
  if (walk.branches > bounds.schemaBranchesTotalMax) {
    refuse(notes, path, `has more than ${bounds.schemaBranchesTotalMax} anyOf, oneOf and allOf entries in all`);
  }
  if (walk.patterns > bounds.schemaPatternsMax)
    refuse(notes, path, `has more than ${bounds.schemaPatternsMax} patterns`);
  if (notes.problems.length > before) return undefined;
  const references = resolveReferences(walk.places, dialect, (keys, message, hint) =>
    refuse(notes, pathOf(walk, keys), message, hint),
  );
  return notes.problems.length > before ? undefined : { schema, dialect, references, places: walk.places };
}

const placeIn = (path: string, keys: readonly string[]): string =>
  keys.length === 0 ? path : `${path}#${pointerText(keys)}`;
const pathOf = (walk: Walk, keys: readonly string[]): string => placeIn(walk.path, keys);

/** The depth is bounded by now, so this may recurse. */
function surveyNode(walk: Walk, node: unknown, keys: readonly string[]): void {
  if (walk.places.size > bounds.schemaNodesMax) return;
  if (!isRecord(node)) {
    if (typeof node !== "boolean")
      refuse(walk.notes, pathOf(walk, keys), `must be a schema (an object or a boolean), not ${shown(node)}`);
    walk.places.set(pointerText(keys), { keys, schema: node, inPlace: [] });
    return;
  }
  for (const [name, value] of Object.entries(node)) surveyKeyword(walk, name, value, keys);
  const children = subschemasOf(node, walk.dialect);
  const inPlace = children.filter((child) => child.inPlace).map(({ path }) => pointerText([...keys, ...path]));
  walk.places.set(pointerText(keys), { keys, schema: node, inPlace });
  for (const { schema, path } of children) surveyNode(walk, schema, [...keys, ...path]);
}

function surveyKeyword(walk: Walk, name: string, value: unknown, keys: readonly string[]): void {
  const here = pathOf(walk, [...keys, name]);
  const kind = keywordKind(name);
  if (kind === undefined) return surveyUnknown(walk, name, here);
  if (kind === "refused") return refuse(walk.notes, here, `${name} is not accepted`, "use $ref to an entry of $defs");
  const home = foreignDialect(name, walk.dialect);
  if (home !== undefined) {
    return refuse(
      walk.notes,
      here,
      `${name} belongs to ${home}, and this schema is read as ${walk.dialect}`,
      dialectHint(name, home),
    );
  }
  if (name === "$defs" || name === "definitions" || kind === "map" || kind === "dependencies")
    surveyNamed(walk, name, value, here);
  if (kind === "list") surveyList(walk, name, value, here);
  if (name === "items" && Array.isArray(value) && walk.dialect === "2020-12") {
    refuse(
      walk.notes,
      here,
      "items must be one schema in 2020-12",
      `use prefixItems, or say "$schema": "http://json-schema.org/draft-07/schema#"`,
    );
  }
  if (name === "enum" && Array.isArray(value) && value.length > bounds.schemaEnumItemsMax) {
    refuse(walk.notes, here, `has more than ${bounds.schemaEnumItemsMax} values`);
  }
  if (name === "type") surveyType(walk, value, here);
  if (name === "pattern") walk.patterns++;
  if (name === "format" && typeof value === "string" && !formatNames.has(value)) {
    warn(
      walk.notes,
      here,
      `the format ${shown(value)} is unknown here and is not checked`,
      didYouMean(value, formatNames),
    );
  }
}

function dialectHint(name: string, home: Dialect): string {
  if (name === "additionalItems") return "in 2020-12 write prefixItems and items";
  return home === "2020-12"
    ? `say "$schema": "https://json-schema.org/draft/2020-12/schema"`
    : `say "$schema": "http://json-schema.org/draft-07/schema#"`;
}

/** Unknown keywords are annotations, as the standard has it; a misspelt one would be a check that silently never runs. */
function surveyUnknown(walk: Walk, name: string, here: string): void {
  const meant = misspeltKeyword(name, editDistance);
  if (meant !== undefined)
    refuse(
      walk.notes,
      here,
      `${JSON.stringify(name)} is no keyword of JSON Schema`,
      `did you mean ${JSON.stringify(meant)}?`,
    );
}

function surveyNamed(walk: Walk, name: string, value: unknown, here: string): void {
  if (!isRecord(value)) return refuse(walk.notes, here, `must be a mapping of names to schemas, not ${shown(value)}`);
  if (name === "patternProperties") walk.patterns += Object.keys(value).length;
  // ajv leaves this one name out of `properties`: the author's check would silently never run.
  if (Object.hasOwn(value, "__proto__")) refuse(walk.notes, here, `the name "__proto__" is not accepted`);
}

function surveyList(walk: Walk, name: string, value: unknown, here: string): void {
  if (!Array.isArray(value) || value.length === 0)
    return refuse(walk.notes, here, `must be a list of schemas, not ${shown(value)}`);
  if (name === "prefixItems") return;
  walk.branches += value.length;
  if (value.length > bounds.schemaBranchesMax)
    refuse(walk.notes, here, `has more than ${bounds.schemaBranchesMax} entries`);
}

function surveyType(walk: Walk, value: unknown, here: string): void {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const name of names) {
    if ((typeNames as readonly unknown[]).includes(name)) continue;
    const hint = typeof name === "string" ? didYouMean(name, typeNames) : undefined;
    refuse(walk.notes, here, `${shown(name)} is no type`, hint ?? `one of ${typeNames.join(", ")}`);
  }
}
