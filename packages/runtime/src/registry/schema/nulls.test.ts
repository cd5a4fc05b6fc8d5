// Nulls for optional fields count as absent, or as the default; nothing else is forgiven.
import { parseJson } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { compileSchema, type CompiledSchema } from "../schema.ts";

function compile(schema: unknown): CompiledSchema {
  const outcome = compileSchema(schema, "input");
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems));
  return outcome;
}

/** True, or the errors as `pointer keyword`. */
function verdict(schema: unknown, value: unknown): true | readonly string[] {
  const result = compile(schema).validate(value);
  return result.ok ? true : result.errors.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
}

describe("nulls for optional fields", () => {
  const schema = {
    type: "object",
    required: ["q"],
    properties: {
      q: { type: "string" },
      limit: { type: "integer", default: 20 },
      cursor: { type: "string" },
      note: { type: ["string", "null"] },
      size: { anyOf: [{ type: "integer" }, { type: "string" }], default: "all" },
      sort: { enum: ["asc", "desc"], default: null },
      list: { type: "array", items: { type: "object", properties: { n: { type: "integer" } } } },
    },
    additionalProperties: false,
  };

  function kept(value: unknown): unknown {
    const result = compile(schema).validateInput(value);
    return result.ok
      ? [result.value, result.edits.map(({ pointer, used }) => `${pointer} ${used}`)]
      : result.errors.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
  }

  test.each<[unknown, unknown]>([
    [{ q: "a" }, [{ q: "a" }, []]],
    [{ q: "a", note: null }, [{ q: "a", note: null }, []]],
    [{ q: "a", cursor: null }, [{ q: "a" }, ["/cursor absent"]]],
    [{ q: "a", limit: null }, [{ q: "a", limit: 20 }, ["/limit default"]]],
    [{ q: "a", size: null }, [{ q: "a", size: "all" }, ["/size default"]]],
    [{ q: "a", sort: null }, [{ q: "a" }, ["/sort absent"]]],
    [{ q: "a", list: [{ n: null }, { n: 1 }] }, [{ q: "a", list: [{}, { n: 1 }] }, ["/list/0/n absent"]]],
    [{ q: null }, ["/q type"]],
    [{ q: null, cursor: null }, ["/q type", "/cursor type"]],
    [{ q: "a", list: [null] }, ["/list/0 type"]],
    [{ q: "a", extra: null }, ["/extra additionalProperties"]],
    [{ q: 1, cursor: null }, ["/q type", "/cursor type"]],
    [null, [" type"]],
  ])("%j", (value, expected) => {
    const before = JSON.stringify(value);
    expect(kept(value)).toEqual(expected);
    expect(JSON.stringify(value)).toBe(before);
  });

  test("plain validation forgives nothing", () => {
    expect(verdict(schema, { q: "a", cursor: null })).toEqual(["/cursor type"]);
  });

  test("many of them, more than one round of errors holds", () => {
    const wide = { type: "object", additionalProperties: { type: "string" } };
    const value = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, null]));
    const result = compile(wide).validateInput({ ...value, last: "x" });
    expect(result).toMatchObject({ ok: true, value: { last: "x" } });
  });

  test("exact numbers survive the repair", () => {
    const parsed = parseJson('{"id": 9007199254740993, "cursor": null}', { depthMax: 5 });
    if (!parsed.ok) throw new Error("should parse");
    const result = compile({ properties: { id: { type: "integer" }, cursor: { type: "string" } } }).validateInput(
      parsed.value,
    );
    expect(result.ok && JSON.stringify(result.value)).toBe('{"id":9007199254740993}');
  });
});
