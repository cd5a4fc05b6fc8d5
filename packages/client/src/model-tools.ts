// Offers governed tools to a model in the shapes of its provider, and runs the calls that the model makes; plain data, no provider's package.
import type { AskOptions } from "./ask.ts";
import { isOpen } from "./call-types.ts";
import type { InvokedCall, UntypedRequest } from "./call-types.ts";
import type { Client } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";
import { providerName } from "./model-names.ts";

/** What a model is told of one tool. */
export interface ModelTool {
  readonly tool: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** Tools under the names that a provider takes. */
export interface ModelTools {
  readonly items: readonly (ModelTool & { readonly name: string })[];
  /** The tool that a model means; undefined for a name that it made up. */
  toolOf(name: string): string | undefined;
}

/** @throws TypeError for a tool whose input is no object, or two tools of one name: no provider takes them */
export function modelTools(tools: readonly ModelTool[]): ModelTools {
  const items = tools.map((one) => ({ ...one, name: providerName(one.tool), input: objectSchema(one) }));
  const byName = new Map(items.map(({ name, tool }) => [name, tool]));
  if (byName.size < items.length) throw new TypeError("two of these tools would have the same name for a model");
  return { items, toolOf: (name) => byName.get(name) };
}

function objectSchema({ tool, input }: ModelTool): Readonly<Record<string, unknown>> {
  const type = input["type"] ?? "object";
  if (type !== "object") throw new TypeError(`${tool} takes no object, and models call tools with objects only`);
  return { ...input, type };
}

/**
 * Reads what there is to know of tools from the runtime.
 * @param names without them: every tool that the client's key may see
 */
export async function loadModelTools(
  client: Pick<Client, "tools">,
  names?: readonly string[],
  options?: AskOptions,
): Promise<ModelTools> {
  const wanted = names === undefined ? await allNames(client, options) : names;
  const found: ModelTool[] = [];
  for (const name of wanted) {
    const { tool, version } = await client.tools.get(name, {}, options);
    found.push({ tool, description: version.description, input: version.spec.input as ModelTool["input"] });
  }
  return modelTools(found);
}

async function allNames(client: Pick<Client, "tools">, options: AskOptions | undefined): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { tool } of client.tools.list({ limit: 100 }, options)) names.push(tool);
  return names;
}

export interface OpenAiTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

/** For `tools` of a chat completion. */
export function toOpenAiTools({ items }: ModelTools): OpenAiTool[] {
  return items.map(({ name, description, input }) => ({
    type: "function",
    function: { name, description, parameters: input },
  }));
}

export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>> & { readonly type: "object" };
}

/** For `tools` of a message. */
export function toAnthropicTools({ items }: ModelTools): AnthropicTool[] {
  return items.map(({ name, description, input }) => ({
    name,
    description,
    input_schema: { ...input, type: "object" },
  }));
}

/** A call in a chat completion's answer. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The message that answers it. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/** A call in a message's content. */
export interface AnthropicToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** The block that answers it. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: string;
  readonly is_error: boolean;
}

/** What goes along with a model's call. */
export interface ToolCallOptions extends AskOptions, Omit<UntypedRequest, "tool" | "input" | "inputText" | "mode"> {
  /** How long the call may take, people's time included; then the model is told that it goes on. Without it to its end. */
  readonly timeoutMs?: number;
}

/**
 * Runs what a model asks for, waits for its end (people who are asked included), and gives the answer for the model. A
 * refusal or a bad end is an answer too: a model can read it and do otherwise.
 * @throws SignalboxApiError where the program, not the model, has to do something: no answer, or no valid key
 */
export function runToolCall(
  client: Pick<Client, "invoke" | "wait">,
  tools: ModelTools,
  call: OpenAiToolCall,
  options?: ToolCallOptions,
): Promise<OpenAiToolMessage>;
export function runToolCall(
  client: Pick<Client, "invoke" | "wait">,
  tools: ModelTools,
  call: AnthropicToolUse,
  options?: ToolCallOptions,
): Promise<AnthropicToolResult>;
export async function runToolCall(
  client: Pick<Client, "invoke" | "wait">,
  tools: ModelTools,
  call: OpenAiToolCall | AnthropicToolUse,
  options: ToolCallOptions = {},
): Promise<OpenAiToolMessage | AnthropicToolResult> {
  const openAi = "function" in call;
  const { content, failed } = await answerOf(client, tools, openAi ? call.function : call, options);
  return openAi
    ? { role: "tool", tool_call_id: call.id, content }
    : { type: "tool_result", tool_use_id: call.id, content, is_error: failed };
}

interface ModelAnswer {
  readonly content: string;
  readonly failed: boolean;
}

async function answerOf(
  client: Pick<Client, "invoke" | "wait">,
  tools: ModelTools,
  asked: { readonly name: string; readonly arguments?: string; readonly input?: unknown },
  { timeoutMs, signal, retry, ...request }: ToolCallOptions,
): Promise<ModelAnswer> {
  const tool = tools.toolOf(asked.name);
  if (tool === undefined) return failure("tool_not_found", `there is no tool "${asked.name}"`);
  const { arguments: text } = asked;
  if (text !== undefined && !isJson(text))
    return failure("invalid_input", "the arguments are not JSON; send an object");
  const how = { ...(signal === undefined ? {} : { signal }), ...(retry === undefined ? {} : { retry }) };
  const input = text === undefined ? { input: asked.input } : { inputText: text === "" ? "{}" : text };
  try {
    const call: InvokedCall = await client.invoke({ ...request, tool, ...input }, how);
    const end = isOpen(call)
      ? await client.wait(call, { ...how, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
      : call;
    if (end.status === "succeeded") return { content: end.outputText, failed: false };
    return failure("cancelled", "the call was stopped before it ended");
  } catch (error) {
    if (!(error instanceof SignalboxApiError) || forPrograms.has(error.code)) throw error;
    const id = error.code === "wait_timeout" ? error.executionId : undefined;
    return failure(error.code, error.message, id);
  }
}

/** A model can do nothing about these. */
const forPrograms: ReadonlySet<string> = new Set([
  "unreachable",
  "unreadable_answer",
  "unauthenticated",
  "token_expired",
  "key_revoked",
]);

/** Models that have nothing to say send no text at all. */
function isJson(text: string): boolean {
  if (text === "") return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function failure(code: string, message: string, executionId?: string): ModelAnswer {
  const where = executionId === undefined ? {} : { execution_id: executionId };
  return { content: JSON.stringify({ error: { code, message }, ...where }), failed: true };
}
