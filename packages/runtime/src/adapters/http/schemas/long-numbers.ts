// Faults of numbers with more digits than a double keeps: the schema, which takes them for no numbers at all, is asked about their doubles.
import { isRawNumber } from "@signalbox/protocol";
import type { z } from "zod";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The issues with those of long numbers put as bounds, where their doubles are out of bounds. What was refused stays refused. */
export function withBounds(schema: z.ZodType, value: unknown, issues: readonly Issue[]): readonly Issue[] {
  const long = issues.filter(({ code, path }) => code === "invalid_type" && isLong(at(value, path)));
  if (long.length === 0) return issues;
  let doubled = value;
  for (const { path } of long) doubled = withDouble(doubled, path);
  const again = schema.safeParse(doubled);
  if (again.success) return issues;
  return issues.flatMap((issue) => {
    if (!long.includes(issue)) return [issue];
    const key = issue.path.join("\n");
    // The range in which doubles are whole comes first, the field's own bound behind it.
    const bound = again.error.issues.findLast(
      ({ code, path }) => (code === "too_big" || code === "too_small") && path.join("\n") === key,
    );
    return [bound ?? issue];
  });
}

export function at(value: unknown, path: Path): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<PropertyKey, unknown>)[step];
  }
  return here;
}

const isLong = (value: unknown): boolean => typeof value === "bigint" || isRawNumber(value);

/** A copy along the path; what was sent stays as it is. */
function withDouble(value: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined) return isRawNumber(value) ? Number(value.rawJSON) : Number(value);
  const inside = withDouble((value as Record<PropertyKey, unknown>)[step], rest);
  if (Array.isArray(value)) return value.with(Number(step), inside);
  return { ...(value as object), [step]: inside };
}
