// Sets ajv up for one schema: linear-time patterns, own checks, fenced formats, and a price on every step.
import { Ajv, _, type CodeKeywordDefinition, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { bounds } from "../bounds.ts";
import { isRecord, refuse, type Notes } from "../../document/problems.ts";
import { CostExceeded, type Budget } from "./budget.ts";
import { priceKeyword } from "./build.ts";
import { ownChecks } from "./checks.ts";
import { metaSchemaIds } from "./dialects.ts";
import { formats } from "./formats.ts";
import { keywordKind, type Dialect } from "./keywords.ts";
import { compilePattern, type Pattern } from "./patterns.ts";
import { pointerText } from "./references.ts";
import type { Survey } from "./survey.ts";

/** Every pattern of the schema by its source; those that cannot be compiled are refused. */
export function compilePatterns(survey: Survey, path: string, notes: Notes): ReadonlyMap<string, Pattern> {
  const patterns = new Map<string, Pattern>();
  const add = (source: string, keys: readonly string[]): void => {
    if (patterns.has(source)) return;
    const outcome = compilePattern(source);
    if (outcome.ok) patterns.set(source, outcome.pattern);
    else refuse(notes, `${path}#${pointerText(keys)}`, `the pattern ${outcome.message}`);
  };
  for (const { keys, schema } of survey.places.values()) {
    if (!isRecord(schema)) continue;
    if (typeof schema["pattern"] === "string") add(schema["pattern"], [...keys, "pattern"]);
    const named = schema["patternProperties"];
    if (isRecord(named)) for (const source of Object.keys(named)) add(source, [...keys, "patternProperties", source]);
  }
  return patterns;
}

/**
 * What ajv is given as `code.regExp`. It keeps one object per `toString()`, and objects of our own all read
 * `[object Object]`: without a text of its own every pattern of a schema would be the first one.
 */
function patternEngine(
  patterns: ReadonlyMap<string, Pattern>,
  budget: Budget,
): NonNullable<NonNullable<Options["code"]>["regExp"]> {
  const numbers = new Map<string, number>();
  const engine = (source: string): { test(text: string): boolean; toString(): string } => {
    // Patterns of a built-in meta-schema are met here for the first time.
    const known = patterns.get(source);
    const outcome = known === undefined ? compilePattern(source) : ({ ok: true, pattern: known } as const);
    if (!outcome.ok) throw new Error(`the pattern ${outcome.message}`);
    const { pattern } = outcome;
    const number = numbers.get(source) ?? numbers.size;
    numbers.set(source, number);
    return {
      test(text) {
        budget.spend(1 + (text.length * pattern.size) / bounds.patternStepsPerUnit);
        return pattern.test(text);
      },
      toString: () => `pattern ${number}`,
    };
  };
  return Object.assign(engine, { code: "patternEngine" });
}

/**
 * Visiting a place costs its price. Where nothing encloses the place that could still forgive errors (anyOf, not,
 * contains …), a validation with enough errors ends there: 300 000 wrong items make a few errors, not 300 000.
 */
function priceCheck(budget: Budget): CodeKeywordDefinition {
  const pay = (units: number, errors: number): void => {
    budget.spend(units);
    if (errors > bounds.schemaErrorsHeldMax) throw new CostExceeded("too many errors in one branch");
  };
  return {
    keyword: priceKeyword,
    schemaType: "number",
    before: "$ref",
    code({ gen, schema, it }) {
      const charge = gen.scopeValue("keyword", { ref: pay, key: pay });
      gen.code(_`${charge}(${schema as number}, errors)`);
      if (it.compositeRule) return;
      gen.if(_`errors >= ${bounds.schemaErrorsSeenMax}`, () => {
        gen.assign(_`${it.validateName}.errors`, _`vErrors`);
        gen.return(false);
      });
    },
  };
}

/** One instance per schema: an instance keeps everything it ever compiled. */
export function createAjv(survey: Survey, patterns: ReadonlyMap<string, Pattern>, budget: Budget): Ajv | Ajv2020 {
  const options: Options = {
    strict: false,
    strictNumbers: true,
    allErrors: true,
    // Errors carry the data and schema at their place, which is how nulls and defaults are found.
    verbose: true,
    ownProperties: true,
    // Inlined references would multiply the code.
    inlineRefs: false,
    validateSchema: false,
    addUsedSchema: false,
    logger: false,
    // 19.99 is a multiple of 0.01, whatever doubles say.
    multipleOfPrecision: 9,
    formats,
    meta: [...survey.references.values()].some((reference) => "meta" in reference),
    // The optimiser's time grows with the square of the schema's size, and it drops variables that
    // `unevaluatedProperties` under `if` still needs.
    code: { regExp: patternEngine(patterns, budget), optimize: false },
  };
  const ajv = survey.dialect === "draft-07" ? new Ajv(options) : new Ajv2020(options);
  for (const check of ownChecks(budget)) {
    ajv.removeKeyword(String(check.keyword));
    ajv.addKeyword(check);
  }
  ajv.addKeyword(priceCheck(budget));
  return ajv;
}

const metaCheckers = new Map<Dialect, Ajv | Ajv2020>();

function metaChecker(dialect: Dialect): Ajv | Ajv2020 {
  const known = metaCheckers.get(dialect);
  if (known !== undefined) return known;
  const options: Options = { strict: false, allErrors: true, validateFormats: false, logger: false };
  const made = dialect === "draft-07" ? new Ajv(options) : new Ajv2020(options);
  metaCheckers.set(dialect, made);
  return made;
}

/** Finds keywords with values they cannot have (`minLength: "3"`); annotations may hold anything. */
export function checkAgainstMetaSchema(survey: Survey, path: string, notes: Notes): void {
  const check = metaChecker(survey.dialect).getSchema(metaSchemaIds[survey.dialect]);
  if (check === undefined) throw new Error(`ajv has no meta-schema for ${survey.dialect}`);
  if (check(survey.schema) === true) return;
  const told = new Set<string>();
  for (const { instancePath, message = "is not valid" } of check.errors ?? []) {
    const names = instancePath.split("/");
    if (told.has(instancePath) || names.some((name) => keywordKind(name) === "note")) continue;
    told.add(instancePath);
    refuse(notes, instancePath === "" ? path : `${path}#${instancePath}`, message);
  }
}
