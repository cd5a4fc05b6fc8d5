// Reads the configuration of model providers, strictly; keys stand in it by reference only.
import { isIP } from "node:net";
import { field, readBoolean, readChoice, readDuration, readFields, readInteger, readRequiredText, readText, type Fields } from "../../document/fields.ts";
import { shapeProblem } from "../../document/json-shape.ts";
import { isRecord, newNotes, refuse, shown, under, type Notes, type Problem } from "../../document/problems.ts";
import { modelBounds } from "./bounds.ts";

/** The name of a variable of the environment. */
export interface SecretRef {
  readonly env: string;
}

interface Common {
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly maxRetries: number;
  readonly headers: Readonly<Record<string, string | SecretRef>>;
  readonly extraBody: Readonly<Record<string, unknown>>;
}

export type ProviderConfig =
  | ({ readonly type: "anthropic"; readonly apiKey: SecretRef; readonly baseUrl: string } & Common)
  | ({ readonly type: "openai"; readonly apiKey: SecretRef; readonly baseUrl: string; readonly organization: string | null; readonly project: string | null } & Common)
  | ({ readonly type: "openai_compatible"; readonly apiKey: SecretRef | undefined; readonly baseUrl: string; readonly streamUsage: boolean; readonly returnThoughts: boolean } & Common)
  | { readonly type: "scripted"; readonly file: string; readonly traceFile: string | undefined };

export type ReadProviders =
  | { readonly ok: true; readonly providers: ReadonlyMap<string, ProviderConfig> }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export const anthropicUrl = "https://api.anthropic.com";
export const openAiUrl = "https://api.openai.com/v1";
const types = ["anthropic", "openai", "openai_compatible", "scripted"] as const;
const commonKeys = ["type", "base_url", "clear_text", "timeout", "idle_timeout", "max_retries", "headers", "extra_body"];
const keysOf: Readonly<Record<(typeof types)[number], readonly string[]>> = {
  anthropic: [...commonKeys, "api_key"],
  openai: [...commonKeys, "api_key", "organization", "project"],
  openai_compatible: [...commonKeys, "api_key", "stream_usage", "return_thoughts"],
  scripted: ["type", "file", "trace_file"],
};
/** The runtime writes these itself. */
const ownBodyKeys = ["model", "messages", "system", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "n"];
const providerName = /^[a-z][a-z0-9_-]*$/;
const headerName = /^[A-Za-z0-9-]{1,64}$/;
const reference = /^env:([A-Za-z_][A-Za-z0-9_]{0,127})$/;

/** @param document parsed YAML or JSON */
export function readProviders(document: unknown): ReadProviders {
  const notes = newNotes();
  const providers = new Map<string, ProviderConfig>();
  const shape = shapeProblem(document, { depthMax: 48, valuesMax: 20_000 });
  if (shape !== undefined) refuse(notes, shape.keys.reduce(under, ""), shape.message);
  else readAll(document, providers, notes);
  return notes.problems.length > 0 ? { ok: false, problems: notes.problems } : { ok: true, providers };
}

function readAll(document: unknown, providers: Map<string, ProviderConfig>, notes: Notes): void {
  const named = field(readFields(document, "", ["providers"], notes), "providers");
  if (!isRecord(named)) return refuse(notes, "providers", "must be a mapping of names to providers", "providers: { anthropic: { type: anthropic, api_key: env:ANTHROPIC_API_KEY } }");
  if (Object.keys(named).length > modelBounds.providersMax) refuse(notes, "providers", `has more than ${modelBounds.providersMax} entries`);
  for (const [name, value] of Object.entries(named)) {
    const path = under("providers", name);
    readText(name, path, { charsMax: modelBounds.providerNameCharsMax, pattern: providerName, hint: "lower-case letters, digits, _ and -" }, notes);
    const provider = readProvider(value, path, notes);
    if (provider !== undefined) providers.set(name, provider);
  }
}

function readProvider(value: unknown, path: string, notes: Notes): ProviderConfig | undefined {
  if (!isRecord(value)) {
    refuse(notes, path, `must be a mapping, not ${shown(value)}`);
    return undefined;
  }
  const type = readChoice(field(value, "type"), under(path, "type"), types, notes);
  if (type === undefined) return undefined;
  const fields = readFields(value, path, keysOf[type], notes);
  if (fields === undefined) return undefined;
  const at = (key: string): string => under(path, key);
  const text = (key: string): string | undefined => {
    const given = field(fields, key);
    return given === undefined ? undefined : readText(given, at(key), { charsMax: modelBounds.pathCharsMax }, notes);
  };
  const flag = (key: string): boolean => {
    const given = field(fields, key);
    return given === undefined || readBoolean(given, at(key), notes) === true;
  };
  if (type === "scripted") {
    const file = readRequiredText(fields, "file", path, { charsMax: modelBounds.pathCharsMax }, notes);
    return file === undefined ? undefined : { type, file, traceFile: text("trace_file") };
  }
  const common = readCommon(fields, path, notes);
  const apiKey = readSecret(field(fields, "api_key"), at("api_key"), notes);
  const baseUrl = readUrl(fields, path, { anthropic: anthropicUrl, openai: openAiUrl, openai_compatible: undefined }[type], apiKey !== undefined, notes);
  if (type === "openai_compatible") return { ...common, type, apiKey, baseUrl, streamUsage: flag("stream_usage"), returnThoughts: flag("return_thoughts") };
  if (apiKey === undefined) {
    if (field(fields, "api_key") === undefined) refuse(notes, at("api_key"), "is required", secretHint);
    return undefined;
  }
  if (type === "anthropic") return { ...common, type, apiKey, baseUrl };
  return { ...common, type, apiKey, baseUrl, organization: text("organization") ?? null, project: text("project") ?? null };
}

function readCommon(fields: Fields, path: string, notes: Notes): Common {
  const time = (key: string, fallback: number, max: number): number => {
    const given = field(fields, key);
    return given === undefined ? fallback : (readDuration(given, under(path, key), { min: 100, max }, notes) ?? fallback);
  };
  const retries = field(fields, "max_retries");
  return {
    timeoutMs: time("timeout", modelBounds.timeoutMs, modelBounds.timeoutMsMax),
    idleMs: time("idle_timeout", modelBounds.idleTimeoutMs, modelBounds.idleTimeoutMsMax),
    maxRetries: retries === undefined ? modelBounds.maxRetries : (readInteger(retries, under(path, "max_retries"), { min: 0, max: modelBounds.maxRetriesMax }, notes) ?? 0),
    headers: readHeaders(field(fields, "headers"), under(path, "headers"), notes),
    extraBody: readExtra(field(fields, "extra_body"), under(path, "extra_body"), notes),
  };
}

const secretHint = "name a variable of the environment: api_key: env:NAME";

/** What stands there instead of a reference may be a key, so it is never repeated. */
function readSecret(value: unknown, path: string, notes: Notes): SecretRef | undefined {
  if (value === undefined) return undefined;
  const name = typeof value === "string" ? reference.exec(value)?.[1] : undefined;
  if (name !== undefined) return { env: name };
  refuse(notes, path, "must be a reference, never the key itself", secretHint);
  return undefined;
}

function readUrl(fields: Fields, path: string, fallback: string | undefined, secret: boolean, notes: Notes): string {
  const given = field(fields, "base_url");
  if (given === undefined && fallback !== undefined) return fallback;
  const text = readRequiredText(fields, "base_url", path, { charsMax: modelBounds.urlCharsMax, hint: "http://127.0.0.1:8000/v1" }, notes);
  if (text === undefined) return "";
  const here = under(path, "base_url");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) refuse(notes, here, "is no http or https URL");
  else if (url.username !== "" || url.password !== "") refuse(notes, here, "holds a name or a password", "give the key as api_key: env:NAME");
  else if (url.search !== "" || url.hash !== "") refuse(notes, here, "must end with its path");
  else if (url.protocol === "http:" && secret && !isLoopback(url.hostname) && !clearText(fields, path, notes))
    refuse(notes, here, "would send the key in clear text", "use https, or say clear_text: true if the network is trusted");
  return text;
}

function clearText(fields: Fields, path: string, notes: Notes): boolean {
  const given = field(fields, "clear_text");
  return given !== undefined && readBoolean(given, under(path, "clear_text"), notes) === true;
}

function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, "");
  return plain === "localhost" || plain === "::1" || (isIP(plain) === 4 && plain.startsWith("127."));
}

function readHeaders(value: unknown, path: string, notes: Notes): Readonly<Record<string, string | SecretRef>> {
  if (value === undefined) return {};
  if (!isRecord(value)) {
    refuse(notes, path, `must be a mapping, not ${shown(value)}`);
    return {};
  }
  if (Object.keys(value).length > modelBounds.headersMax) refuse(notes, path, `has more than ${modelBounds.headersMax} entries`);
  const read = Object.entries(value).flatMap(([name, text]): [string, string | SecretRef][] => {
    if (!headerName.test(name)) refuse(notes, under(path, name), "is no name of a header");
    const env = typeof text === "string" ? reference.exec(text)?.[1] : undefined;
    if (env !== undefined) return [[name, { env }]];
    if (typeof text === "string" && text.length <= modelBounds.headerValueCharsMax && /^[\x20-\x7e]*$/.test(text)) return [[name, text]];
    refuse(notes, under(path, name), `must be at most ${modelBounds.headerValueCharsMax} printable ASCII characters, or env:NAME`);
    return [];
  });
  return Object.fromEntries(read);
}

function readExtra(value: unknown, path: string, notes: Notes): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isRecord(value)) {
    refuse(notes, path, `must be a mapping, not ${shown(value)}`);
    return {};
  }
  const shape = shapeProblem(value, { depthMax: modelBounds.extraBodyDepthMax, valuesMax: modelBounds.extraBodyValuesMax });
  if (shape !== undefined) refuse(notes, shape.keys.reduce(under, path), shape.message);
  for (const key of Object.keys(value)) if (ownBodyKeys.includes(key)) refuse(notes, under(path, key), "is written by the runtime");
  return value;
}
