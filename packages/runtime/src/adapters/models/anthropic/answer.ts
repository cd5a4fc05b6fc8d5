// Builds an answer from the events of a Messages stream: blocks by index, each with its deltas.
import type { ModelDelta, ModelUsage } from "../../../session/model.ts";
import type { AssistantPart, StopReason } from "../../../session/types.ts";
import { agreedStop, type AnswerBuilder, type Sofar } from "../answer.ts";
import { modelBounds } from "../bounds.ts";
import { countIn, Malformed, member, recordOf, textIn, type Loose } from "../loose.ts";

interface Block {
  readonly kind: string;
  readonly start: Loose;
  text: string;
  signature: string;
  whole: boolean;
}

const stops: Readonly<Record<string, StopReason>> = {
  end_turn: "end_turn",
  pause_turn: "end_turn",
  tool_use: "tool_use",
  max_tokens: "max_tokens",
  model_context_window_exceeded: "max_tokens",
  stop_sequence: "stop_sequence",
  refusal: "refusal",
};

export function messagesAnswer(onDelta: (delta: ModelDelta) => void): AnswerBuilder {
  const blocks = new Map<number, Block>();
  const counts: Record<string, number> = {};
  let stop: StopReason | undefined;
  const count = (usage: unknown): void => {
    if (recordOf(usage) === undefined) return;
    for (const key of countKeys) counts[key] = countIn(usage, key) ?? counts[key] ?? 0;
  };
  const handlers: Readonly<Record<string, (event: Loose) => void>> = {
    message_start: (event) => count(member(event["message"], "usage")),
    content_block_start: (event) => startBlock(blocks, event, onDelta),
    content_block_delta: (event) => growBlock(blocks, event, onDelta),
    content_block_stop: (event) => {
      blockAt(blocks, event).whole = true;
    },
    message_delta(event) {
      count(event["usage"]);
      const reason = textIn(event["delta"], "stop_reason");
      if (reason !== undefined) stop = stops[reason] ?? "end_turn";
    },
  };
  return {
    take(event) {
      const type = textIn(event, "type");
      if (type === undefined) throw new Malformed("an event without a type");
      // There may be kinds that are newer than this reader.
      if (Object.hasOwn(handlers, type)) handlers[type]?.(event as Loose);
    },
    sofar: () => sofar(blocks, counts, stop),
  };
}

const countKeys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];

function usageOf(counts: Readonly<Record<string, number>>): ModelUsage | undefined {
  const [input = 0, created = 0, read = 0, output] = countKeys.map((key) => counts[key]);
  return output === undefined ? undefined : { inputTokens: input + created + read, outputTokens: output };
}

function sofar(blocks: ReadonlyMap<number, Block>, counts: Readonly<Record<string, number>>, stop: StopReason | undefined): Sofar {
  const inOrder = [...blocks].sort(([one], [other]) => one - other).map(([, block]) => block);
  const parts = inOrder.flatMap((block) => partOf(block, stop !== undefined));
  return { parts, stop: stop === undefined ? undefined : agreedStop(stop, parts), usage: usageOf(counts) };
}

function blockAt(blocks: ReadonlyMap<number, Block>, event: Loose): Block {
  const block = blocks.get(countIn(event, "index") ?? -1);
  if (block === undefined) throw new Malformed("a piece of a block that never began");
  return block;
}

function startBlock(blocks: Map<number, Block>, event: Loose, onDelta: (delta: ModelDelta) => void): void {
  const start = recordOf(event["content_block"]);
  const index = countIn(event, "index");
  const kind = textIn(start, "type");
  if (start === undefined || index === undefined || kind === undefined) throw new Malformed("the beginning of a block that has no index or no type");
  if (blocks.has(index)) throw new Malformed("two blocks of one index");
  if (blocks.size >= modelBounds.blocksMax) throw new Malformed(`more than ${modelBounds.blocksMax} blocks`);
  const text = (kind === "text" && textIn(start, "text")) || (kind === "thinking" && textIn(start, "thinking")) || "";
  blocks.set(index, { kind, start, text, signature: textIn(start, "signature") ?? "", whole: false });
  if (kind === "tool_use") onDelta({ type: "tool_call", name: textIn(start, "name") ?? "" });
  if (text !== "") onDelta({ type: kind === "text" ? "text" : "thought", text });
}

function growBlock(blocks: ReadonlyMap<number, Block>, event: Loose, onDelta: (delta: ModelDelta) => void): void {
  const block = blockAt(blocks, event);
  const delta = event["delta"];
  const grow = (key: string): string => {
    const piece = textIn(delta, key);
    if (piece === undefined) throw new Malformed("a piece of a block that is no text");
    return piece;
  };
  switch (textIn(delta, "type")) {
    case "text_delta":
    case "thinking_delta": {
      const type = textIn(delta, "type") === "text_delta" ? "text" : "thought";
      const text = grow(type === "text" ? "text" : "thinking");
      block.text += text;
      if (text !== "") onDelta({ type, text });
      break;
    }
    case "input_json_delta":
      block.text += grow("partial_json");
      break;
    case "signature_delta":
      block.signature += grow("signature");
      break;
    case undefined:
      throw new Malformed("a piece of a block without a type");
    default:
  }
}

/** @param told the stop was told, so that a call which is cut short is cut short for a known reason */
function partOf({ kind, start, text, signature, whole }: Block, told: boolean): AssistantPart[] {
  if (kind === "text") return text === "" ? [] : [{ type: "text", text }];
  if (kind === "thinking") return [{ type: "thought", text, ...(signature === "" ? {} : { metadata: { signature } }) }];
  if (kind === "redacted_thinking") return [{ type: "thought", text: "", metadata: { redacted: textIn(start, "data") ?? "" } }];
  if (kind !== "tool_use" || !(whole || told)) return [];
  const id = (textIn(start, "id") ?? "").slice(0, modelBounds.providerIdCharsMax);
  return [{ type: "tool_call", providerId: id, name: textIn(start, "name") ?? "", argumentsText: text === "" ? wholeInput(start) : text }];
}

/** Some servers give the input at once instead of in pieces; an empty one says that pieces are to come, and none came. */
function wholeInput(start: Loose): string {
  const input = recordOf(start["input"]);
  return input === undefined || Object.keys(input).length === 0 ? "" : JSON.stringify(input);
}
