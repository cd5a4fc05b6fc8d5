// Talking with a session at the command line: pipes, a terminal with Ctrl-C, approvals in place, and a runtime that is killed in mid-turn.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startAgentStage, type AgentStage } from "../support/agent-stage.ts";
import { freePort } from "../support/free-port.ts";
import { ask } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import { signalboxBin, type MadeKey } from "../support/stack.ts";
import { openTerminal, type Terminal } from "../support/terminal.ts";

const till = openTill();
let stage: AgentStage;
let ann: MadeKey;
let fay: MadeKey;

const pay = (amount: number) => ({ tool: "pay", input: order(amount) });
const scripts = {
  turns: {
    branches: [
      { when: { last_user: "pay 500" }, completions: [{ text: "I pay.", calls: [pay(500)] }, { text: "It is {{last_result.status}}." }] },
      { when: { last_user: "pay 1500" }, completions: [{ text: "I pay.", calls: [pay(1_500)] }, { text: "Told: {{last_result}}" }] },
      { when: { last_user: "slow" }, completions: [{ text: "This takes a while.", delay_ms: 1_500 }] },
      { when: { last_user: "for ever" }, completions: [{ text: "never said", delay_ms: 30_000 }] },
      { when: { last_user: "fail" }, completions: [{ fail: { code: "overloaded", message: "too many ask" } }] },
      { completions: [{ text: "You said: {{last_user}}" }] },
    ],
  },
};

const opened: Terminal[] = [];

beforeAll(async () => {
  stage = await startAgentStage(scripts);
  const { stack } = stage;
  ann = await stack.makeKey({ principal: "user:ann", scopes: ["sessions:run", "sessions:read", "tools:invoke"], grants: ["tool:invoke:*"] });
  fay = await stack.makeKey({ principal: "user:fay", scopes: ["sessions:run", "sessions:read", "calls:read", "approvals:decide"], roles: ["finance"] });
  await stack.register(paymentTool("pay"));
  await stack.startWorker("w-till", [{ tool: "pay", handler: till.pay }]);
  await stack.publish({ name: "above-1000", match: { tools: ["pay"] }, when: "args.amount > 1000.0", then: ask("finance") });
  await stage.publish("clerk", { tools: [{ tool: "pay@1.0.0" }] });
});
afterEach(() => {
  for (const terminal of opened.splice(0)) terminal.kill();
});
afterAll(() => stage.close(till));

/** `signalbox chat …` where somebody sits. */
function chat(args: readonly string[], key?: string): Terminal {
  const terminal = openTerminal([process.execPath, signalboxBin, "chat", ...args], { cwd: stage.stack.folder, env: stage.env(key) });
  opened.push(terminal);
  return terminal;
}

const idIn = (text: string): string => /sess_\w+/.exec(text)?.[0] ?? "";

describe("in a pipe", () => {
  test("one message, its answer on stdout and nothing else there; how it went on stderr; 0 when the model had its say", async () => {
    const { code, out, err } = await stage.cli(["chat", "clerk", "--message", "pay 500"]);
    expect([code, out]).toEqual([0, "I pay.\nIt is processed.\n"]);
    expect(err).toMatch(/^→ pay \{"amount":500,"currency":"USD","payee":"acme"\}\n← pay succeeded .*\nawaiting_input · \d+ tokens in, \d+ out; 2 completions, 1 call · sess_\w+\n$/);
    const again = await stage.cli(["chat", "--session", idIn(err), "--message", "hello"]);
    expect([again.code, again.out]).toEqual([0, "You said: hello\n"]);
  });

  test("--json is the stream, a line each, to the turn's end", async () => {
    const { code, out } = await stage.cli(["chat", "clerk", "--message", "hello", "--json"]);
    const lines = out.trimEnd().split("\n").map((line) => JSON.parse(line) as { readonly type: string; readonly seq?: number; readonly data: Readonly<Record<string, unknown>> });
    expect(code).toBe(0);
    expect(lines.filter(({ seq }) => seq !== undefined).map(({ type }) => type)).toEqual(["turn.started", "message", "assistant", "turn.ended"]);
    const pieces = lines.filter(({ type, data }) => type === "delta" && data["type"] === "text").map(({ data }) => data["text"]);
    expect(pieces.join("")).toBe("You said: hello");
  });

  test("6 while people are asked, 1 when the model failed, 4 and 1 for a session that is not there or over", async () => {
    const parked = await stage.cli(["chat", "clerk", "--message", "pay 1500"]);
    expect([parked.code, parked.out]).toEqual([6, "I pay.\n"]);
    expect(parked.err).toMatch(/next: {2}signalbox approvals show apr_\w+\n$/);
    const id = idIn(parked.err);
    expect((await stage.cli(["sessions", "cancel", id, "--scope", "session"])).code).toBe(0);
    await stage.until(id, ["cancelled"]);
    const over = await stage.cli(["chat", "--session", id, "--message", "hello"]);
    expect(over.code).toBe(1);
    expect(over.err).toContain(`next:  signalbox sessions inspect ${id}; a new one: signalbox chat clerk\n`);
    const failed = await stage.cli(["chat", "clerk", "--message", "fail"]);
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining("too many ask")]);
    expect((await stage.cli(["chat", "--session", "sess_none", "--message", "hello"])).code).toBe(4);
  });
});

describe("at a terminal", () => {
  test("words come as they are said, calls as short lines, and Ctrl-D leaves a session that goes on", async () => {
    const terminal = chat(["clerk"]);
    await terminal.shows("clerk@1.0.0  sess_");
    await terminal.shows("> ");
    terminal.type("pay 500\r");
    await terminal.shows("I pay.");
    await terminal.shows('→ pay {"amount":500,"currency":"USD","payee":"acme"}');
    await terminal.shows("← pay succeeded");
    await terminal.shows("It is processed.");
    await terminal.shows("> ");
    terminal.type("/help\r");
    await terminal.shows("/cancel    ends the turn that runs (so does Ctrl-C)");
    terminal.type("/nonsense\r");
    await terminal.shows("/nonsense is no command");
    terminal.type("//slash\r");
    await terminal.shows("You said: /slash");
    terminal.type("\x04");
    await terminal.shows("the session goes on");
    await terminal.shows(`next:  signalbox chat --session ${idIn(terminal.shown())}`);
    expect(await terminal.ended).toBe(0);
    expect((await stage.session(idIn(terminal.shown()))).status).toBe("awaiting_input");
  });

  test("Ctrl-C ends the turn and not the session; twice leaves", async () => {
    const terminal = chat(["clerk"]);
    await terminal.shows("> ");
    terminal.type("for ever\r");
    await stage.until(idIn(terminal.shown()), ["running"]);
    terminal.type("\x03");
    await terminal.shows("cancelling the turn … (Ctrl-C again leaves)");
    await terminal.shows("the turn ended: cancelled by user:admin");
    await terminal.shows("> ");
    terminal.type("hello\r");
    await terminal.shows("You said: hello");
    await terminal.shows("> ");
    terminal.type("\x03");
    await terminal.shows("Ctrl-C again leaves; the session stays as it is");
    terminal.type("\x03");
    await terminal.shows("the session goes on");
    expect(await terminal.ended).toBe(130);
  });

  test("/complete ends the session, and leaves", async () => {
    const terminal = chat(["clerk", "--message", "hello"]);
    await terminal.shows("You said: hello");
    await terminal.shows("> ");
    terminal.type("/complete\r");
    await terminal.shows("the session is completed: completed by user:admin");
    expect(await terminal.ended).toBe(0);
  });

  test("an approval is answered in place by who may: with other arguments, and with a no; who may not is told", async () => {
    const started = await stage.cli(["sessions", "start", "clerk", "--message", "pay 1500", "--wait", "10s"], ann.secret);
    expect(started.code).toBe(6);
    const id = idIn(started.err);
    const hers = chat(["--session", id], ann.secret);
    await hers.shows("user:ann> pay 1500");
    await hers.shows("this key may not see what");
    const his = chat(["--session", id], fay.secret);
    await his.shows('"amount": 1500');
    await his.shows("who decides");
    await his.shows("a approve, r reject, e edit the arguments, s skip: ");
    his.type("s\r");
    await his.shows("skipped; /ask asks again");
    his.type("/ask\r");
    await his.shows("a approve, r reject, e edit the arguments, s skip: ");
    his.type("e\r");
    await his.shows("the arguments as JSON, on one line (empty: as they are) ");
    his.type(`${JSON.stringify(order(700))}\r`);
    await his.shows("approved with other arguments");
    await his.shows("with arguments of user:fay");
    await hers.shows("with arguments of user:fay");
    await his.shows("Told: ");
    await his.shows("> ");
    // He decides about her calls, and does not speak for her.
    his.type("pay 1500\r");
    await his.shows("may not speak for them");
    hers.type("pay 1500\r");
    await his.shows("a approve, r reject, e edit the arguments, s skip: ");
    his.type("r\r");
    await his.shows("why not? (may stay empty) ");
    his.type("once is enough\r");
    await his.shows("rejected");
    await hers.shows("← pay denied");
    expect(till.receipts.filter(({ order: { amount } }) => amount === 1_500)).toEqual([]);
    expect(till.receipts.filter(({ order: { amount } }) => amount === 700)).toHaveLength(1);
  });

  test("what others decide while it is asked about is asked about no more", async () => {
    const terminal = chat(["clerk", "--message", "pay 1500"]);
    await terminal.shows("none of them the requester");
    await terminal.shows("it waits for somebody who may decide");
    const found = await stage.until(idIn(terminal.shown()), ["awaiting_approval"]);
    const [approvalId = ""] = (found["waiting"] as { readonly approval_ids: readonly string[] }).approval_ids;
    expect((await stage.cli(["approvals", "reject", approvalId], fay.secret)).code).toBe(0);
    await terminal.shows("← pay denied");
    await terminal.shows("> ");
  });
});

test("a runtime that is killed in mid-turn and starts again: who waited hears the answer, whole and once; who comes back later sees what was said", async () => {
  const house = await startAgentStage(scripts, ["--port", String(await freePort())]);
  try {
    await house.stack.admin.invoke({ tool: "echo", input: {} });
    await house.publish("clerk", {});
    const chatThere = (...args: readonly string[]): Terminal => {
      const terminal = openTerminal([process.execPath, signalboxBin, "chat", ...args], { cwd: house.stack.folder, env: house.env() });
      opened.push(terminal);
      return terminal;
    };
    const waiting = chatThere("clerk");
    await waiting.shows("> ");
    waiting.type("hello\r");
    await waiting.shows("You said: hello");
    await waiting.shows("> ");
    waiting.type("slow\r");
    const id = idIn(waiting.shown());
    await house.until(id, ["running"]);
    await house.stack.kill();
    await waiting.shows("trying again");
    await house.stack.start();
    await waiting.shows("the connection is back", 30_000);
    // The lease of the runtime that was killed has to run out first.
    await waiting.shows("This takes a while.", 40_000);
    await waiting.shows("> ");
    waiting.type("hello again\r");
    await waiting.shows("You said: hello again");
    const later = chatThere("--session", id);
    for (const said of ["user:admin> hello", "You said: hello", "user:admin> slow", "This takes a while.", "You said: hello again", "> "]) await later.shows(said);
    for (const { shown } of [waiting, later]) {
      expect(shown().split("This takes a while.")).toHaveLength(2);
      expect(shown().split("You said: hello")).toHaveLength(3);
    }
  } finally {
    await house.close();
  }
}, 100_000);
