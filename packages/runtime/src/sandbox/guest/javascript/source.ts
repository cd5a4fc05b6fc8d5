// What the JavaScript guest runs for a request: the source's text and its input, each cut out of the request as it was sent.
import { memberTexts, requestParts } from "../request.ts";

export interface GuestSource {
  readonly code: string;
  /** For messages and stack traces. */
  readonly fileName: string;
  /** JSON texts. */
  readonly input: string;
  readonly context: string;
  readonly secrets: string;
}

/** Larger sources are refused: the input's own limit is smaller. */
export const codeCharsMax = 1024 * 1024;

/** The file name under which source from the arguments goes. */
export const codeFileName = "code.js";

export type SourceRead =
  | { readonly ok: true; readonly source: GuestSource }
  | { readonly ok: false; readonly message: string };

/** A packaged tool: the request's `args` are its input. */
export function packagedSource(requestJson: string, entry: string, code: string): SourceRead {
  const parts = partsOf(requestJson);
  if (parts === null) return { ok: false, message: "the request is no JSON object" };
  const { args, context, secrets } = parts;
  return checked({ code, fileName: entry, input: args, context, secrets });
}

/** Source from the arguments: `args.code` is run, `args.input` is its input. */
export function sourceFromArgs(requestJson: string): SourceRead {
  const parts = partsOf(requestJson);
  const args = parts === null ? null : membersOf(parts.args);
  if (parts === null || args === null) return { ok: false, message: "the request has no object of arguments" };
  const code: unknown = JSON.parse(args.get("code") ?? "null");
  if (typeof code !== "string") return { ok: false, message: "the arguments have no text `code`" };
  const { context, secrets } = parts;
  return checked({ code, fileName: codeFileName, input: args.get("input") ?? "null", context, secrets });
}

function checked(source: GuestSource): SourceRead {
  if (source.code.length <= codeCharsMax) return { ok: true, source };
  return { ok: false, message: `the code has more than ${codeCharsMax} characters` };
}

function partsOf(requestJson: string): ReturnType<typeof requestParts> | null {
  try {
    return requestParts(requestJson);
  } catch {
    return null;
  }
}

function membersOf(json: string): Map<string, string> | null {
  try {
    return memberTexts(json);
  } catch {
    return null;
  }
}
