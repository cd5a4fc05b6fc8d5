// Anthropic's Messages API by hand: its events byte by byte, and its refusals of requests that break its rules.
import { isIllFormed, startWire, type WireReply, type WireRequest, type WireServer } from "./wire-server.ts";

export const anthropicKey = "sk-ant-test-0123456789";

type Json = Readonly<Record<string, unknown>>;

export const startAnthropic = (): Promise<WireServer> =>
  startWire((request) => {
    const fault = faultIn(request);
    return fault === undefined ? undefined : anthropicError(...fault);
  });

export function anthropicError(status: number, type: string, message: string, headers: Readonly<Record<string, string>> = {}): WireReply {
  return { status, headers: { "request-id": "req_011CS", ...headers }, body: JSON.stringify({ type: "error", error: { type, message }, request_id: "req_011CS" }) };
}

export const sse = (type: string, data: unknown): string => `event: ${type}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Tokens of the prompt: 10 new, 200 from the cache, 30 put into it. */
export const messageStart = sse("message_start", {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-test",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, cache_read_input_tokens: 200, cache_creation_input_tokens: 30, output_tokens: 1 },
  },
});
export const ping = sse("ping", { type: "ping" });
export const blockStart = (index: number, block: Json): string => sse("content_block_start", { type: "content_block_start", index, content_block: block });
export const blockDelta = (index: number, delta: Json): string => sse("content_block_delta", { type: "content_block_delta", index, delta });
export const blockStop = (index: number): string => sse("content_block_stop", { type: "content_block_stop", index });
export const messageDelta = (stop: string, outputTokens = 25): string =>
  sse("message_delta", { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: outputTokens } });
export const messageStop = sse("message_stop", { type: "message_stop" });

export const textBlock = (index: number, ...pieces: readonly string[]): string =>
  blockStart(index, { type: "text", text: "" }) + pieces.map((text) => blockDelta(index, { type: "text_delta", text })).join("") + blockStop(index);
export const toolBlock = (index: number, id: string, name: string, ...pieces: readonly string[]): string =>
  blockStart(index, { type: "tool_use", id, name, input: {} }) + pieces.map((partial_json) => blockDelta(index, { type: "input_json_delta", partial_json })).join("") + blockStop(index);

/** A whole answer. */
export const messageOf = (stop: string, ...blocks: readonly string[]): string => messageStart + ping + blocks.join("") + messageDelta(stop) + messageStop;

type Fault = readonly [status: number, type: string, message: string];
const invalid = (message: string): Fault => [400, "invalid_request_error", message];
const known = ["model", "max_tokens", "system", "temperature", "messages", "tools", "stream", "thinking"];

function faultIn({ path, headers, body }: WireRequest): Fault | undefined {
  if (path !== "/v1/messages") return [404, "not_found_error", "no such path"];
  if (headers.authorization !== `Bearer ${anthropicKey}`) return [401, "authentication_error", `invalid key: ${String(headers.authorization)}`];
  if (headers["anthropic-version"] === undefined) return invalid("anthropic-version: header is required");
  const extra = Object.keys(body).find((key) => !known.includes(key));
  if (extra !== undefined) return invalid(`${extra}: Extra inputs are not permitted`);
  if (isIllFormed(body)) return invalid("The request body is not valid JSON: no low surrogate in string");
  if (body["stream"] !== true || typeof body["model"] !== "string" || !(Number(body["max_tokens"]) >= 1)) return invalid("model, max_tokens or stream: Field required");
  if (body["system"] === "") return invalid("system: text content blocks must be non-empty");
  const tools = (body["tools"] ?? []) as readonly Json[];
  const tool = tools.findIndex(({ name, input_schema }) => !isName(name) || (input_schema as Json)["type"] !== "object");
  if (tool >= 0) return invalid(`tools.${tool}.custom.input_schema.type: Field required`);
  return messagesFault(body["messages"] as readonly Message[]);
}

interface Message {
  readonly role: string;
  readonly content: readonly Json[];
}

const isName = (name: unknown): boolean => typeof name === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(name);

function messagesFault(messages: readonly Message[]): Fault | undefined {
  if (messages.length === 0) return invalid("messages: at least one message is required");
  const ids = new Set<unknown>();
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== (at % 2 === 0 ? "user" : "assistant")) return invalid(`messages.${at}: roles must alternate, beginning with user`);
    if (content.length === 0) return invalid(`messages.${at}: all messages must have non-empty content`);
    for (const [index, block] of content.entries()) {
      const fault = blockFault(block, role);
      if (fault !== undefined) return invalid(`messages.${at}.content.${index}: ${fault}`);
      if (block["type"] === "tool_use" && ids.has(block["id"])) return invalid(`messages.${at}.content.${index}: tool_use ids must be unique`);
      if (block["type"] === "tool_use") ids.add(block["id"]);
    }
    const asked = at === 0 ? [] : (messages[at - 1]?.content ?? []).filter(({ type }) => type === "tool_use").map(({ id }) => id);
    const told = content.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id);
    if (role === "user" && JSON.stringify(asked) !== JSON.stringify(told)) return invalid(`messages.${at}: tool_use ids were found without tool_result blocks immediately after`);
    if (content.slice(0, told.length).some(({ type }) => told.length > 0 && type !== "tool_result")) return invalid(`messages.${at}: tool_result blocks must come first`);
  }
  return messages.at(-1)?.role === "user" ? undefined : invalid("messages: the final message must be of the user");
}

function blockFault(block: Json, role: string): string | undefined {
  const { type } = block;
  if (type === "text") return typeof block["text"] === "string" && block["text"].trim() !== "" ? undefined : "text content blocks must contain non-whitespace text";
  if (role === "user") {
    if (type !== "tool_result") return `unexpected ${String(type)}`;
    return block["is_error"] === true && block["content"] === "" ? "content cannot be empty if is_error is true" : undefined;
  }
  if (type === "thinking") return typeof block["signature"] === "string" && block["signature"] !== "" ? undefined : "signature: Field required";
  if (type === "redacted_thinking") return typeof block["data"] === "string" ? undefined : "data: Field required";
  if (type !== "tool_use") return `unexpected ${String(type)}`;
  if (!isName(block["id"])) return "tool_use.id: String should match pattern";
  if (!isName(block["name"])) return "tool_use.name: String should match pattern";
  return typeof block["input"] === "object" && block["input"] !== null && !Array.isArray(block["input"]) ? undefined : "tool_use.input: Input should be a valid dictionary";
}
