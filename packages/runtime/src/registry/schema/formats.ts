// The format checks, from ajv-formats, fenced by a length: not every one of its patterns takes linear time.
import type { Format } from "ajv";
import ajvFormats, { type FormatName } from "ajv-formats";
import { bounds } from "../bounds.ts";
import { formatNames } from "./format-names.ts";

const secretReference = /^secret:\/\/[a-z0-9][a-z0-9._-]{0,127}\/[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$/;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

const own: Readonly<Record<string, Format>> = {
  "secret-ref": (text: string) => secretReference.test(text),
  byte: (text: string) => text.length % 4 === 0 && base64.test(text),
  // Text of any kind; the words only tell a reader what it is.
  binary: true,
  password: true,
};

function fenced(format: Format): Format {
  if (typeof format === "object" && "validate" in format && format.type === "number") return format;
  const validate = typeof format === "object" && "validate" in format ? format.validate : format;
  const test =
    validate instanceof RegExp ? (text: string) => validate.test(text) : (validate as (text: string) => boolean);
  return (text: string) => text.length <= bounds.formatCharsMax && test(text);
}

export const formats: Readonly<Record<string, Format>> = Object.fromEntries(
  [...formatNames].map((name) => [name, own[name] ?? fenced(ajvFormats.default.get(name as FormatName))]),
);
