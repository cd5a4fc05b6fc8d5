// OpenAI's Chat Completions API by hand: its chunks byte by byte, and its refusals of requests that break its rules.
import { isIllFormed, startWire, type WireReply, type WireRequest, type WireServer } from "./wire-server.ts";

export const openAiKey = "sk-test-0123456789";

type Json = Readonly<Record<string, unknown>>;

/** @param strict `openai` has the rules of OpenAI itself; `template` of a server whose template reads arguments as JSON, and that wants no key */
export const startOpenAi = (strict: "openai" | "template" = "openai"): Promise<WireServer> =>
  startWire((request) => {
    const fault = faultIn(request, strict);
    return fault === undefined ? undefined : openAiError(...fault);
  });

export function openAiError(status: number, code: string | null, message: string, headers: Readonly<Record<string, string>> = {}, param: string | null = null): WireReply {
  return { status, headers: { "x-request-id": "req_9f", ...headers }, body: JSON.stringify({ error: { message, type: "invalid_request_error", param, code } }) };
}

const line = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
export const raw = line;
export const done = line("[DONE]");
const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt-test" };

export const delta = (fields: Json, finish: string | null = null): string => line({ ...base, choices: [{ index: 0, delta: fields, logprobs: null, finish_reason: finish }], usage: null });
export const content = (...pieces: readonly string[]): string => pieces.map((text) => delta({ content: text })).join("");
export const finish = (reason: string): string => delta({}, reason);
export const usage = (input = 120, output = 30): string => line({ ...base, choices: [], usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } });
export const begin = delta({ role: "assistant", content: "", refusal: null });
/** One piece of one tool call. */
export const piece = (entry: Json): string => delta({ tool_calls: [entry] });
export const callStart = (index: number, id: string, name: string, args = ""): string => piece({ index, id, type: "function", function: { name, arguments: args } });
export const callMore = (index: number, args: string): string => piece({ index, function: { arguments: args } });

/** A whole answer. */
export const chatOf = (reason: string, ...parts: readonly string[]): string => begin + parts.join("") + finish(reason) + usage() + done;

type Fault = readonly [status: number, code: string | null, message: string, headers?: Readonly<Record<string, string>>, param?: string];
const invalid = (message: string, param: string): Fault => [400, null, message, {}, param];
const known = ["model", "max_completion_tokens", "max_tokens", "temperature", "messages", "tools", "stream", "stream_options", "reasoning_effort"];

function faultIn({ path, headers, body }: WireRequest, strict: "openai" | "template"): Fault | undefined {
  if (path !== "/v1/chat/completions") return [404, null, "no such path"];
  if (strict === "openai" && headers.authorization !== `Bearer ${openAiKey}`) return [401, "invalid_api_key", `Incorrect API key provided: ${String(headers.authorization)}.`];
  if (strict === "template" && headers.authorization !== undefined) return [401, null, "nobody asked for a key"];
  const extra = Object.keys(body).find((key) => !known.includes(key));
  if (extra !== undefined) return invalid(`Unrecognized request argument supplied: ${extra}`, extra);
  if (isIllFormed(body)) return invalid("We could not parse the JSON body of your request.", "body");
  const tools = (body["tools"] ?? []) as readonly { readonly type: string; readonly function: Json }[];
  const tool = tools.findIndex((one) => one.type !== "function" || !isName(one.function["name"]));
  if (tool >= 0 || (body["tools"] !== undefined && tools.length === 0)) return invalid("Invalid 'tools'", `tools[${tool}].function.name`);
  return messagesFault(body["messages"] as readonly Json[], strict);
}

const isName = (name: unknown): boolean => typeof name === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(name);

function messagesFault(messages: readonly Json[], strict: "openai" | "template"): Fault | undefined {
  let open: unknown[] = [];
  const ids = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    const param = `messages.[${at}].role`;
    const { role } = message;
    if (role === "tool") {
      if (open[0] === undefined || open[0] !== message["tool_call_id"]) return invalid("messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", param);
      if (typeof message["content"] !== "string") return invalid("Missing content", param);
      open = open.slice(1);
      continue;
    }
    if (open.length > 0) return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.", param);
    if (role !== "system" && role !== "user" && role !== "assistant") return invalid(`Invalid value: ${String(role)}`, param);
    if (role === "system" && at !== 0) return invalid("system is first", param);
    if (strict === "template" && role === "user" && messages[at - 1]?.["role"] === "user") return invalid("Conversation roles must alternate user/assistant", param);
    const calls = (message["tool_calls"] ?? []) as readonly { readonly id: string; readonly type: string; readonly function: Json }[];
    if (typeof message["content"] !== "string" && calls.length === 0) return invalid("Missing required parameter: content", param);
    if (message["tool_calls"] !== undefined && calls.length === 0) return invalid("[] is too short - 'tool_calls'", param);
    for (const { id, type, function: called } of calls) {
      if (type !== "function" || !isName(id) || ids.has(id) || !isName(called["name"]) || typeof called["arguments"] !== "string") return invalid("Invalid tool_calls", `messages.[${at}].tool_calls`);
      if (strict === "template" && !isJsonObject(called["arguments"])) return [500, null, "Traceback: Expecting value: line 1 column 1"];
      ids.add(id);
    }
    open = calls.map(({ id }) => id);
  }
  return open.length > 0 ? invalid("tool_call_ids did not have response messages", "messages") : undefined;
}

function isJsonObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}
