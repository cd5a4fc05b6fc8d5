// The dialogue about an approval: every answer, what is asked on the way, and what never becomes a vote.
import { expect, test } from "vitest";
import type { ShownApproval } from "../approval-story.ts";
import { Question, type Reply } from "./question.ts";
import { Questions } from "./questions.ts";

const approval = (more: Partial<ShownApproval> = {}): ShownApproval => ({ approval_id: "apr_1", kind: "call", comprehension: false, execution_id: "exec_1", ...more }) as ShownApproval;

function talk(more: Partial<ShownApproval>, ...lines: readonly string[]): { readonly reply: Reply; readonly prompt: string } {
  const question = new Question(approval(more));
  let reply: Reply;
  for (const line of lines) reply = question.take(line);
  return { reply, prompt: question.prompt };
}

const choices = "a approve, r reject, e edit the arguments, s skip: ";

test.each<[readonly string[], Reply]>([
  [["a"], { verdict: { type: "approve" } }],
  [["Approve "], { verdict: { type: "approve" } }],
  [["r", ""], { verdict: { type: "reject" } }],
  [["r", " too much "], { verdict: { type: "reject", comment: "too much" } }],
  [["s"], { verdict: { type: "skip" } }],
  [["e", '{"amount":5}'], { verdict: { type: "approve", argsText: '{"amount":5}' } }],
  [["e", '{"amount":12345678901234567890}'], { verdict: { type: "approve", argsText: '{"amount":12345678901234567890}' } }],
  [["e", ""], { say: "the arguments stay as they are" }],
  [["e", "[1]"], { say: "arguments are one JSON object" }],
  [["e", "null"], { say: "arguments are one JSON object" }],
  [[""], undefined],
  [["yes"], { say: '"yes" is none of the answers; to send a message, skip first' }],
])("%j", (lines, expected) => {
  expect(talk({}, ...lines).reply).toEqual(expected);
});

test("what is no JSON approves nothing, and the choice comes again", () => {
  const { reply, prompt } = talk({}, "e", "{amount: 5}");
  expect(reply).toMatchObject({ say: expect.stringMatching(/^that is no JSON: /) as string });
  expect(prompt).toBe(choices);
});

test("an approval that asks for understanding gets it said, or is not given", () => {
  const asked = { comprehension: true };
  expect(talk(asked, "a")).toEqual({ reply: undefined, prompt: "have you understood what it allows? (yes or no) " });
  expect(talk(asked, "a", "yes").reply).toEqual({ verdict: { type: "approve", comprehended: true } });
  expect(talk(asked, "e", '{"amount":5}', "y").reply).toEqual({ verdict: { type: "approve", argsText: '{"amount":5}', comprehended: true } });
  expect(talk(asked, "a", "no")).toEqual({ reply: { say: "then it is not approved" }, prompt: choices });
  expect(talk(asked, "r", "no").reply).toEqual({ verdict: { type: "reject", comment: "no" } });
});

test("how a call ended and a limit have words of their own, and no arguments to edit", () => {
  expect(talk({ kind: "resolve" }).prompt).toBe("a run it again, r give it up, s skip: ");
  expect(talk({ kind: "limit" }).prompt).toBe("a one more budget, r stop, s skip: ");
  expect(talk({ kind: "limit" }, "e").reply).toEqual({ say: '"e" is none of the answers; to send a message, skip first' });
});

test("one is asked about at a time; what was decided elsewhere is asked about no more", () => {
  const questions = new Questions();
  const [one, two, three] = ["1", "2", "3"].map((n) => approval({ approval_id: `apr_${n}`, execution_id: `exec_${n}` }));
  for (const each of [one, two, three]) if (each !== undefined) questions.add(each);
  expect(questions.next()).toBe(one);
  expect(questions.next()).toBeUndefined();
  expect(questions.settled("exec_2")).toBe(false);
  expect(questions.settled("exec_1")).toBe(true);
  expect(questions.next()).toBe(three);
  questions.close(true);
  expect(questions.now).toBeUndefined();
  expect(questions.takeSkipped()).toEqual([three]);
  expect(questions.takeSkipped()).toEqual([]);
  questions.add(three as ShownApproval);
  questions.next();
  expect([questions.clear(), questions.clear()]).toEqual([true, false]);
});
