// Compiles the JSON Schemas of tools into validators that are safe to run on hostile values.
import type { ValidateFunction } from "ajv";
import { toPlain } from "@signalbox/protocol";
import { bounds } from "./bounds.ts";
import { newNotes, refuse, type Problem } from "../document/problems.ts";
import { createBudget, CostExceeded, type Budget } from "./schema/budget.ts";
import { buildSchema } from "./schema/build.ts";
import { checkAgainstMetaSchema, compilePatterns, createAjv } from "./schema/engine.ts";
import { schemaErrors, type SchemaError } from "./schema/errors.ts";
import { applyEdits, nullEdits, type NullEdit } from "./schema/nulls.ts";
import { surveySchema, type Survey } from "./schema/survey.ts";

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly errors: readonly SchemaError[] };

export type ValidateValue = (value: unknown) => Verdict;

export type InputVerdict =
  | { readonly ok: true; readonly value: unknown; readonly edits: readonly NullEdit[] }
  | { readonly ok: false; readonly errors: readonly SchemaError[] };

export interface CompiledSchema {
  readonly ok: true;
  readonly warnings: readonly Problem[];
  /**
   * At most ten errors. The value is JSON of bounded depth; raw numbers and bigints count as the doubles they are
   * near to. Never throws for such a value; one that costs too much to check is refused with the keyword `cost`, and one
   * whose check itself failed with `internal`.
   */
  readonly validate: ValidateValue;
  /**
   * Like `validate`, but a null for an optional field that does not allow it counts as absent, or as the field's
   * `default`. `value` is the value to go on with (a copy if anything changed), `edits` is the record of what changed.
   */
  readonly validateInput: (value: unknown) => InputVerdict;
}

export type SchemaOutcome = CompiledSchema | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * 2020-12, or draft-07 where `$schema` says so; unknown `$schema`s are read as 2020-12. Unknown keywords and formats
 * are annotations, misspelt keywords are refused. Problems carry paths like `spec.input#/properties/url`.
 */
export function compileSchema(schema: unknown, which: "input" | "output"): SchemaOutcome {
  const notes = newNotes();
  const path = `spec.${which}`;
  const surveyed = surveySchema(schema, path, notes);
  if (surveyed === undefined) return { ok: false, problems: notes.problems };
  // Digits past a double's precision are kept in what is stored, but nothing here can compute with them.
  const survey: Survey = { ...surveyed, schema: toPlain(surveyed.schema) as Survey["schema"] };
  checkAgainstMetaSchema(survey, path, notes);
  const patterns = compilePatterns(survey, path, notes);
  if (notes.problems.length > 0) return { ok: false, problems: notes.problems };
  const budget = createBudget();
  try {
    const run = createAjv(survey, patterns, budget).compile(buildSchema(survey));
    return compiledSchema(run, budget, notes.warnings);
  } catch (error) {
    refuse(
      notes,
      path,
      `cannot be compiled: ${error instanceof Error ? error.message.slice(0, bounds.errorTextCharsMax) : String(error)}`,
    );
    return { ok: false, problems: notes.problems };
  }
}

/** Both schemas of a tool; a tool without an output schema accepts any output. */
export function compileToolSchemas(spec: { readonly input: unknown; readonly output: unknown }):
  | {
      readonly ok: true;
      readonly input: CompiledSchema;
      readonly output: CompiledSchema | undefined;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] } {
  const input = compileSchema(spec.input, "input");
  const output = spec.output === undefined ? undefined : compileSchema(spec.output, "output");
  if (input.ok && (output === undefined || output.ok)) return { ok: true, input, output };
  return { ok: false, problems: [input, output].flatMap((one) => (one === undefined || one.ok ? [] : one.problems)) };
}

/** Rounds of finding nulls; one round sees at most as many as a validation reports errors. */
const nullRoundsMax = 4;

type Run =
  | { readonly ok: true }
  | { readonly ok: false; readonly errors: readonly SchemaError[]; readonly nulls: readonly NullEdit[] };

const tooCostly: SchemaError = {
  pointer: "",
  keyword: "cost",
  message: "costs too much to check against the schema: send less, or simplify the schema",
};
const notCheckable: SchemaError = {
  pointer: "",
  keyword: "internal",
  message: "could not be checked against the schema: simplify the schema",
};

function compiledSchema(run: ValidateFunction, budget: Budget, warnings: readonly Problem[]): CompiledSchema {
  const check = (value: unknown): Run => {
    try {
      const plain = toPlain(value);
      budget.begin(plain);
      if (run(plain)) return { ok: true };
      const errors = run.errors ?? [];
      return { ok: false, errors: schemaErrors(errors), nulls: nullEdits(errors) };
    } catch (error) {
      // RangeError: the stack ran out, which only a schema and a value of unusual depth together can do.
      const costly = error instanceof CostExceeded || error instanceof RangeError;
      // Anything else is a mistake in generated code. What could not be checked is not let through.
      return { ok: false, errors: [costly ? tooCostly : notCheckable], nulls: [] };
    } finally {
      // The compiled function would keep the errors, and with them the value, until the next call.
      run.errors = null;
      budget.end();
    }
  };
  return {
    ok: true,
    warnings,
    validate(value) {
      const result = check(value);
      return result.ok ? result : { ok: false, errors: result.errors };
    },
    validateInput(value) {
      const first = check(value);
      if (first.ok) return { ok: true, value, edits: [] };
      const edits: NullEdit[] = [];
      let result: Run = first;
      let current = value;
      for (let round = 0; round < nullRoundsMax && !result.ok && result.nulls.length > 0; round++) {
        edits.push(...result.nulls);
        current = applyEdits(current, result.nulls);
        result = check(current);
      }
      return result.ok ? { ok: true, value: current, edits } : { ok: false, errors: first.errors };
    },
  };
}
