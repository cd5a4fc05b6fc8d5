// The shape of JSON as text that can be kept and compared: names and types of fields, whatever their values.

/** `"null | string"`, `[item]`, or fields by name; a name that ends in `?` is not in every object. */
export type Shape = string | readonly Shape[] | { readonly [field: string]: Shape };

/** Fields that hold what tools, callers and documents bring along: their inside is nobody's promise. */
const free: ReadonlySet<string> = new Set([
  "input",
  "output",
  "args",
  "original_args",
  "details",
  "labels",
  "context",
  "calls",
  "payload",
  "resources",
]);

export function shapeOf(value: unknown, name = ""): Shape {
  if (free.has(name)) return "any";
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? [] : [value.map((item) => shapeOf(item)).reduce(merged)];
  if (typeof value !== "object") return typeof value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, shapeOf(inner, field)]));
}

/** What both can be read as. */
export function merged(a: Shape, b: Shape): Shape {
  if (Array.isArray(a) && Array.isArray(b)) {
    const [one, other] = [a[0] as Shape | undefined, b[0] as Shape | undefined];
    if (one === undefined || other === undefined) return one === undefined ? b : a;
    return [merged(one, other)];
  }
  if (isFields(a) && isFields(b)) return mergedFields(a, b);
  const words = new Set([...wordsOf(a), ...wordsOf(b)]);
  const [only] = [a, b].filter((shape) => typeof shape !== "string");
  // Null, or the thing: told as the thing that may be null.
  if (only !== undefined) return { "null or": only };
  return [...words].toSorted().join(" | ");
}

type Fields = { readonly [field: string]: Shape };
const isFields = (shape: Shape): shape is Fields => typeof shape === "object" && !Array.isArray(shape);
const wordsOf = (shape: Shape): readonly string[] => (typeof shape === "string" ? shape.split(" | ") : []);

function mergedFields(a: Fields, b: Fields): Shape {
  if ("null or" in a && "null or" in b) return { "null or": merged(a["null or"] ?? "", b["null or"] ?? "") };
  if ("null or" in a) return { "null or": merged(a["null or"] ?? "", b) };
  if ("null or" in b) return { "null or": merged(a, b["null or"] ?? "") };
  const names = new Set([...Object.keys(a), ...Object.keys(b)].map((name) => name.replace(/\?$/, "")));
  return Object.fromEntries(
    [...names].map((name) => {
      const [one, other] = [a[name] ?? a[`${name}?`], b[name] ?? b[`${name}?`]];
      const always = a[name] !== undefined && b[name] !== undefined;
      if (one === undefined || other === undefined) return [`${name}?`, one ?? other ?? "null"];
      return [always ? name : `${name}?`, merged(one, other)];
    }),
  );
}

/**
 * Where something does not fit what is pinned, each as a line that names the field: a field that is missing or unknown,
 * a type that the pin does not have. What may be absent, null or empty may also be so every time.
 */
export function misfits(pinned: Shape | undefined, found: Shape, at: string): readonly string[] {
  if (pinned === undefined) return [`${at}: is new`];
  if (Array.isArray(pinned) && Array.isArray(found)) {
    const [one, other] = [pinned[0] as Shape | undefined, found[0] as Shape | undefined];
    return other === undefined ? [] : misfits(one, other, `${at}[]`);
  }
  if (isFields(pinned) && "null or" in pinned) {
    const inner = isFields(found) && "null or" in found ? found["null or"] : found;
    return inner === "null" ? [] : misfits(pinned["null or"], inner ?? "null", at);
  }
  if (isFields(pinned) && isFields(found)) return fieldMisfits(pinned, found, at);
  const known = new Set(wordsOf(pinned));
  const fits =
    typeof found === "string" && typeof pinned === "string" && wordsOf(found).every((word) => known.has(word));
  return fits ? [] : [`${at}: is ${said(found)}, was ${said(pinned)}`];
}

const said = (shape: Shape): string =>
  typeof shape === "string" ? shape : Array.isArray(shape) ? "a list" : "an object";

function fieldMisfits(pinned: Fields, found: Fields, at: string): readonly string[] {
  const names = new Set([...Object.keys(pinned), ...Object.keys(found)].map((name) => name.replace(/\?$/, "")));
  return [...names].flatMap((name) => {
    const always = pinned[name];
    const there = found[name] ?? found[`${name}?`];
    if (always !== undefined && found[name] === undefined) return [`${at}.${name}: is gone`];
    return there === undefined ? [] : misfits(always ?? pinned[`${name}?`], there, `${at}.${name}`);
  });
}

/** Fields that are pinned and were in nothing that was found. */
export function unseen(pinned: Shape, found: Shape | undefined, at: string): readonly string[] {
  if (found === undefined) return [`${at}: is gone`];
  if (Array.isArray(pinned) && Array.isArray(found)) {
    const [one, other] = [pinned[0] as Shape | undefined, found[0] as Shape | undefined];
    return one === undefined || other === undefined ? [] : unseen(one, other, `${at}[]`);
  }
  if (!isFields(pinned) || !isFields(found)) return [];
  return Object.entries(pinned).flatMap(([name, inner]) => {
    const bare = name.replace(/\?$/, "");
    return unseen(inner, found[bare] ?? found[`${bare}?`], `${at}.${bare}`);
  });
}
