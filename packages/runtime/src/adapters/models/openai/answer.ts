// Builds an answer from the chunks of a Chat Completions stream, also of servers that are careless with indexes and ids.
import type { ModelDelta, ModelUsage } from "../../../session/model.ts";
import type { AssistantPart, StopReason } from "../../../session/types.ts";
import { agreedStop, type AnswerBuilder, type Sofar } from "../answer.ts";
import { modelBounds } from "../bounds.ts";
import { countIn, listIn, Malformed, member, recordOf, textIn, type Loose } from "../loose.ts";

interface Call {
  readonly index: number | undefined;
  id: string;
  name: string;
  argumentsText: string;
  readonly attached: Record<string, unknown>;
}

interface State {
  text: string;
  refused: boolean;
  thought: string;
  /** Fields of the message that are nobody's but the server's, thoughts included. */
  readonly attached: Record<string, unknown>;
  readonly calls: Call[];
  stop: StopReason | undefined;
  usage: ModelUsage | undefined;
}

const stops: Readonly<Record<string, StopReason>> = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", function_call: "tool_use", content_filter: "refusal" };
/** Two names are in use for what a model thinks aloud. */
const thoughtFields = ["reasoning_content", "reasoning"];
const ownFields = new Set(["role", "content", "refusal", "tool_calls", "function_call", "audio"]);
const ownCallFields = new Set(["index", "id", "type", "function"]);

export function chatAnswer(onDelta: (delta: ModelDelta) => void): AnswerBuilder {
  const state: State = { text: "", refused: false, thought: "", attached: {}, calls: [], stop: undefined, usage: undefined };
  return {
    take(event) {
      const chunk = recordOf(event);
      if (chunk === undefined) throw new Malformed("a chunk that is no object");
      state.usage = usageIn(chunk["usage"]) ?? state.usage;
      for (const choice of listIn(chunk, "choices")) if ((countIn(choice, "index") ?? 0) === 0) takeChoice(state, choice, onDelta);
    },
    sofar: () => sofar(state),
  };
}

function usageIn(usage: unknown): ModelUsage | undefined {
  const [input, output] = [countIn(usage, "prompt_tokens"), countIn(usage, "completion_tokens")];
  return input === undefined && output === undefined ? undefined : { inputTokens: input ?? 0, outputTokens: output ?? 0 };
}

function takeChoice(state: State, choice: unknown, onDelta: (delta: ModelDelta) => void): void {
  const delta = recordOf(member(choice, "delta"));
  for (const [key, value] of Object.entries(delta ?? {})) {
    if (value === null || value === undefined) continue;
    if (key === "content" || key === "refusal") takeText(state, key, value, onDelta);
    else if (key === "tool_calls") for (const piece of listIn(delta, key)) takeCall(state, piece, onDelta);
    else if (!ownFields.has(key)) attach(state.attached, key, value);
    if (thoughtFields.includes(key) && typeof value === "string" && value !== "") {
      // Servers that send both send the same twice.
      if (key === "reasoning" && typeof delta?.["reasoning_content"] === "string") continue;
      state.thought += value;
      onDelta({ type: "thought", text: value });
    }
  }
  const reason = textIn(choice, "finish_reason");
  if (reason !== undefined && reason !== "") state.stop = stops[reason] ?? "end_turn";
}

function takeText(state: State, key: string, value: unknown, onDelta: (delta: ModelDelta) => void): void {
  if (typeof value !== "string") throw new Malformed(`a ${key} that is no text`);
  if (value === "") return;
  state.text += value;
  if (key === "refusal") state.refused = true;
  onDelta({ type: "text", text: value });
}

function takeCall(state: State, piece: unknown, onDelta: (delta: ModelDelta) => void): void {
  const entry = recordOf(piece);
  if (entry === undefined) throw new Malformed("a tool call that is no object");
  const call = callFor(state.calls, entry);
  const [name, written] = [textIn(entry["function"], "name") ?? "", member(entry["function"], "arguments")];
  if (call.id === "") call.id = (textIn(entry, "id") ?? "").slice(0, modelBounds.providerIdCharsMax);
  if (call.name === "" && name !== "") {
    call.name = name;
    onDelta({ type: "tool_call", name });
  }
  // Some servers give the arguments as the object itself.
  if (typeof written === "string") call.argumentsText += written;
  else if (recordOf(written) !== undefined) call.argumentsText += JSON.stringify(written);
  for (const [key, value] of Object.entries(entry)) if (!ownCallFields.has(key) && value !== null) attach(call.attached, key, value);
}

/** By index where there is one; but another id under the same index is another call: some servers count nothing. */
function callFor(calls: Call[], entry: Loose): Call {
  const [index, id] = [countIn(entry, "index"), textIn(entry, "id") ?? ""];
  const known = index === undefined ? (calls.findLast((call) => id !== "" && call.id === id) ?? (id === "" ? calls.at(-1) : undefined)) : calls.findLast((call) => call.index === index);
  if (known !== undefined && (id === "" || known.id === "" || known.id === id)) return known;
  if (calls.length >= modelBounds.blocksMax) throw new Malformed(`more than ${modelBounds.blocksMax} tool calls`);
  const call: Call = { index, id: "", name: "", argumentsText: "", attached: {} };
  calls.push(call);
  return call;
}

/** Texts grow and lists are continued, as everything in a stream; of other values the last one stands. */
function attach(attached: Record<string, unknown>, key: string, value: unknown): void {
  const before = Object.hasOwn(attached, key) ? attached[key] : undefined;
  const now =
    typeof before === "string" && typeof value === "string" ? before + value : Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value;
  Object.defineProperty(attached, key, { value: now, enumerable: true, writable: true, configurable: true });
}

function sofar({ text, refused, thought, attached, calls, stop, usage }: State): Sofar {
  const parts: AssistantPart[] = [];
  const extra = Object.keys(attached).length > 0;
  if (thought !== "" || extra) parts.push({ type: "thought", text: thought, ...(extra ? { metadata: { message: attached } } : {}) });
  if (text !== "") parts.push({ type: "text", text });
  // Only the stop says that arguments are at their end.
  if (stop !== undefined) parts.push(...calls.toSorted(byIndex).map(partOf));
  return { parts, stop: stop === undefined ? undefined : refused ? "refusal" : agreedStop(stop, parts), usage };
}

/** Calls without an index stay where they came. */
const byIndex = (one: Call, other: Call): number => (one.index === undefined || other.index === undefined ? 0 : one.index - other.index);

function partOf({ id, name, argumentsText, attached }: Call): AssistantPart {
  const metadata = Object.keys(attached).length === 0 ? {} : { metadata: { call: attached } };
  return { type: "tool_call", providerId: id, name, argumentsText, ...metadata };
}
