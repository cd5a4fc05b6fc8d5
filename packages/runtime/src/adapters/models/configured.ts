// The models of a runtime: those of its configuration file, and those whose keys stand in the environment.
import { dirname, resolve } from "node:path";
import type { Clock } from "../../corridor/ports.ts";
import type { Model, Models } from "../../session/model.ts";
import { sha256 } from "../system/crypto.ts";
import { modelBounds } from "./bounds.ts";
import { anthropicUrl, openAiUrl, readProviders, type ProviderConfig, type SecretRef } from "./config-file.ts";
import { readModelFile, refuseFile } from "./document-file.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export interface ModelsPlace {
  /** YAML or JSON; undefined = only what the environment has keys for. */
  readonly file: string | undefined;
  readonly env: Env;
  readonly clock: Clock;
}

export interface ConfiguredModels {
  readonly models: Models;
  /** Names and types, for a line in the log. */
  readonly providers: readonly { readonly name: string; readonly type: ProviderConfig["type"] }[];
}

/** Nothing is asked of any provider yet, and no library is loaded. @throws Error that says what to do */
export async function openModels({ file, env, clock }: ModelsPlace): Promise<ConfiguredModels> {
  const configured = file === undefined ? new Map<string, ProviderConfig>() : await readConfig(file);
  const all = new Map([...fromEnvironment(env), ...configured]);
  const folder = file === undefined ? process.cwd() : dirname(resolve(file));
  const opened = new Map<string, Model>();
  for (const [name, config] of all) opened.set(name, await openModel(name, config, { env, clock, folder }));
  return { models: (provider) => opened.get(provider), providers: [...all].map(([name, { type }]) => ({ name, type })) };
}

async function readConfig(file: string): Promise<ReadonlyMap<string, ProviderConfig>> {
  const read = readProviders(await readModelFile(file));
  if (!read.ok) throw refuseFile(file, read.problems);
  return read.providers;
}

/** The variables that everybody uses; a provider of the same name in the file stands instead of these. */
function fromEnvironment(env: Env): [string, ProviderConfig][] {
  const { timeoutMs, idleTimeoutMs: idleMs, maxRetries } = modelBounds;
  const common = { timeoutMs, idleMs, maxRetries, headers: {}, extraBody: {} };
  const found: [string, ProviderConfig][] = [];
  const has = (key: string): boolean => (env[key] ?? "") !== "";
  if (has("ANTHROPIC_API_KEY"))
    found.push(["anthropic", { ...common, type: "anthropic", apiKey: { env: "ANTHROPIC_API_KEY" }, baseUrl: env["ANTHROPIC_BASE_URL"] || anthropicUrl }]);
  if (has("OPENAI_API_KEY")) {
    const account = { organization: env["OPENAI_ORG_ID"] || null, project: env["OPENAI_PROJECT_ID"] || null };
    found.push(["openai", { ...common, ...account, type: "openai", apiKey: { env: "OPENAI_API_KEY" }, baseUrl: env["OPENAI_BASE_URL"] || openAiUrl }]);
  }
  return found;
}

interface Place {
  readonly env: Env;
  readonly clock: Clock;
  /** Files are named from here. */
  readonly folder: string;
}

async function openModel(name: string, config: ProviderConfig, { env, clock, folder }: Place): Promise<Model> {
  if (config.type === "scripted") {
    const { openScripted } = await import("./scripted/open.ts");
    const trace = config.traceFile === undefined ? {} : { traceFile: resolve(folder, config.traceFile) };
    return openScripted({ file: resolve(folder, config.file), ...trace, clock });
  }
  const secret = (ref: SecretRef, field: string): string => secretOf(ref, env, `providers.${name}.${field}`);
  const headers = Object.fromEntries(Object.entries(config.headers).map(([header, value]) => [header, typeof value === "string" ? value : secret(value, `headers.${header}`)]));
  const { baseUrl, timeoutMs, idleMs, maxRetries, extraBody } = config;
  const shared = { name, baseUrl, timeoutMs, idleMs, maxRetries, extraBody, headers, clock, hash: sha256 };
  if (config.type === "anthropic") {
    const { anthropicModel } = await import("./anthropic/model.ts");
    return anthropicModel({ ...shared, apiKey: secret(config.apiKey, "api_key") });
  }
  const { openAiModel } = await import("./openai/model.ts");
  if (config.type === "openai") {
    const { organization, project } = config;
    const dialect = { tokensField: "max_completion_tokens", argumentsMustBeJson: false, streamUsage: true, returnThoughts: true } as const;
    return openAiModel({ ...shared, apiKey: secret(config.apiKey, "api_key"), organization, project, dialect });
  }
  const { apiKey, streamUsage, returnThoughts } = config;
  const dialect = { tokensField: "max_tokens", argumentsMustBeJson: true, streamUsage, returnThoughts } as const;
  return openAiModel({ ...shared, apiKey: apiKey === undefined ? undefined : secret(apiKey, "api_key"), organization: null, project: null, dialect });
}

/** @throws Error that names the variable, never what is in it */
function secretOf({ env: variable }: SecretRef, env: Env, path: string): string {
  const value = (env[variable] ?? "").trim();
  if (value === "") throw new Error(`${path} names the variable ${variable}, which is not set: set it, or take the provider out`);
  if (value.length > modelBounds.secretCharsMax || !/^[\x21-\x7e]+$/.test(value)) throw new Error(`${path} names the variable ${variable}, which holds no key: blanks or control characters stand in it`);
  return value;
}
