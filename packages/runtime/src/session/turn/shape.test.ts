// Responses that do not have the form of an answer are refused, whichever journal they came out of.
import { describe, expect, test } from "vitest";
import {
  answer,
  drain,
  failedAnswer,
  kept,
  limitAnswered,
  message,
  modelAnswers,
  toolCall,
  toolsRan,
  turnConfig,
} from "../../../../../test/support/scripted-turn.ts";
import { TurnMachine } from "./machine.ts";
import type { Effect, Request, Response } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** As it could stand in a row that another hand has changed. */
const bent = (response: Response, change: Fields): Response => ({ ...response, ...change }) as Response;

function at<T extends Request["type"]>(
  type: T,
): { readonly machine: TurnMachine; readonly request: Extract<Request, { readonly type: T }> } {
  const machine = TurnMachine.start(turnConfig({ stepsMax: 1, onLimit: "escalate" }), [], [message("hello")]);
  const respond = (request: Request): Response => {
    if (request.type === "CompleteModel") return modelAnswers(request, answer([toolCall("read"), toolCall("write")]));
    return request.type === "RunTools" ? toolsRan(request) : kept(request);
  };
  for (;;) {
    const last: Effect | undefined = drain(machine).at(-1);
    if (last?.type === type) return { machine, request: last as Extract<Request, { readonly type: T }> };
    machine.handle(respond(last as Request));
  }
}

function expectRefused(machine: TurnMachine, response: Response): void {
  const before = machine.snapshot();
  expect(machine.handle(response)).toEqual({ accepted: false, reason: "wrong_shape" });
  expect(machine.snapshot()).toBe(before);
  expect(machine.poll()).toBeUndefined();
}

describe("results of a batch", () => {
  const { request } = at("RunTools");
  const good = toolsRan(request);
  const [read, write] = good.results;

  test.each<readonly [string, Fields]>([
    ["missing", { results: [read] }],
    ["too many", { results: [read, write, write] }],
    ["none", { results: [] }],
    ["one twice", { results: [read, read] }],
    ["an index that is no call's", { results: [read, { ...write, index: 2 }] }],
    ["an index that is no number", { results: [read, { ...write, index: "1" }] }],
    ["another call's id", { results: [read, { ...write, callId: read?.callId }] }],
    ["nothing in a slot", { results: [read, null] }],
    ["no text", { results: [read, { ...write, text: undefined }] }],
    ["an unknown status", { results: [read, { ...write, status: "fine" }] }],
    ["no word on whether it is an error", { results: [read, { ...write, isError: undefined }] }],
    ["no list", { results: { 0: read, 1: write } }],
    ["settled twice", { settled: [0, 0] }],
    ["settled by name", { settled: ["0", "1"] }],
    ["settled outside", { settled: [0, 2] }],
    ["settled as no list", { settled: null }],
    ["an unknown cancel", { cancelled: "call" }],
    ["a stop without a code", { stop: {} }],
    ["no stop", { stop: undefined }],
    ["time that runs backward", { spentMs: -1 }],
    ["endless time", { spentMs: Number.POSITIVE_INFINITY }],
    ["no time", { spentMs: null }],
  ])("%s", (_title, change) => {
    expectRefused(at("RunTools").machine, bent(good, change));
  });

  test("in another order they are taken, and put into the order of the calls", () => {
    const { machine: other, request: batch } = at("RunTools");
    const ran = toolsRan(batch);
    expect(other.handle({ ...ran, results: [...ran.results].reverse(), settled: [1, 0] })).toEqual({ accepted: true });
    const item = other.history.at(-1);
    if (item?.type !== "results") throw new Error("no results");
    expect(item.results.map(({ index, name }) => [index, name])).toEqual([
      [0, "read"],
      [1, "write"],
    ]);
    expect(item.settled).toEqual([1, 0]);
  });
});

describe("an answer of a model", () => {
  const { request } = at("CompleteModel");
  const good = modelAnswers(request, answer(["hi"]));
  const outcome = (change: Fields): Fields => ({ outcome: { ...answer(["hi"]), ...change } });

  test.each<readonly [string, Fields]>([
    ["none", { outcome: null }],
    ["an unknown stop", outcome({ stop: "tired" })],
    ["no usage", outcome({ usage: undefined })],
    ["tokens below zero", outcome({ usage: { inputTokens: -1, outputTokens: 0 } })],
    ["tokens that are no number", outcome({ usage: { inputTokens: 1, outputTokens: "2" } })],
    ["parts that are no list", outcome({ parts: "hi" })],
    ["a part that is nothing", outcome({ parts: [null] })],
    ["a part of an unknown kind", outcome({ parts: [{ type: "picture" }] })],
    ["a text without text", outcome({ parts: [{ type: "text" }] })],
    ["a call without a name", outcome({ parts: [{ type: "tool_call", providerId: "a", argumentsText: "{}" }] })],
    ["a call whose arguments are no text", outcome({ parts: [{ ...toolCall("read"), argumentsText: {} }] })],
    ["neither good nor bad", outcome({ ok: "yes" })],
    ["a failure without a code", { outcome: { ...failedAnswer("overloaded"), code: undefined } }],
    ["time that is no number", { spentMs: "1" }],
  ])("%s", (_title, change) => {
    expectRefused(at("CompleteModel").machine, bent(good, change));
  });

  test("arguments that were left out are none", () => {
    const { machine: other } = at("CompleteModel");
    const { argumentsText: _, ...bare } = toolCall("read") as Extract<
      ReturnType<typeof toolCall>,
      { type: "tool_call" }
    >;
    expect(other.handle(bent(good, outcome({ parts: [bare], stop: "tool_use" })))).toEqual({ accepted: true });
    const last = drain(other).at(-1);
    expect(last).toMatchObject({ type: "RunTools", calls: [{ argsJson: "{}", settled: null }] });
  });
});

describe("a checkpoint", () => {
  const { request } = at("Checkpoint");
  const good = kept(request, [message("more", 2)]);

  test.each<readonly [string, Fields]>([
    ["no messages", { messages: undefined }],
    ["a message without its place in the inbox", { messages: [{ by: "user:ann", text: "more" }] }],
    ["a message without text", { messages: [{ by: "user:ann", inboxSeq: 2 }] }],
    ["no word on a cancel", { cancelled: undefined }],
  ])("%s", (_title, change) => {
    expectRefused(at("Checkpoint").machine, bent(good, change));
  });
});

describe("an answer about a limit", () => {
  const { request } = at("AskLimit");

  test.each<readonly [string, Fields]>([
    ["no word on a grant", { granted: undefined }],
    ["a grant that is no yes or no", { granted: "yes" }],
    ["no word on a cancel", { cancelled: null }],
  ])("%s", (_title, change) => {
    expectRefused(at("AskLimit").machine, bent(limitAnswered(request, true), change));
  });
});

test("a break without a code", () => {
  const { machine, request } = at("CompleteModel");
  expectRefused(machine, { type: "Broken", id: request.id, code: "", message: "gone" });
});
