// From how a box ended to what the caller is told: every end, and what tools write that is no result.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerOf, exceededIn, type BoxAnswer } from "./contract-result.ts";
import type { BoxEnd, BoxResult } from "./types.ts";

const usage = { startMs: 3, durationMs: 12, cpuMs: 8, peakMemoryBytes: 1_000, egressBytes: 0 };
const told = { durationMs: 12, cpuMs: 8, peakMemoryBytes: 1_000 };
const well: BoxEnd = { reason: "exited", code: 0 };

function box(end: BoxEnd, parts: Partial<BoxResult> = {}): BoxResult {
  return { end, resultText: null, truncated: [], stderrTail: "", usage, ...parts };
}

const errorOf = (answer: BoxAnswer): { code: string; message: string; retryable: boolean; details: unknown } => {
  if (answer.status !== "failed") throw new Error(answer.status);
  const { detailsJson, ...error } = answer.error;
  return { ...error, details: JSON.parse(detailsJson ?? "null") };
};

describe("a tool that ends well", () => {
  test("its result goes on as it was written", () => {
    const resultText = ' {"n": 12345678901234567890, "d": 1.10}\n';
    expect(answerOf(box(well, { resultText, stderrTail: "a warning" }), "fd3")).toEqual({
      status: "succeeded",
      outputJson: '{"n": 12345678901234567890, "d": 1.10}',
      illFormed: false,
      usage: told,
    });
  });

  test("any JSON value is a result", () => {
    for (const resultText of ["null", "0", '"x"', "[]", "true"])
      expect(answerOf(box(well, { resultText }), "stdout")).toMatchObject({
        status: "succeeded",
        outputJson: resultText,
      });
  });

  test("ill-formed text is replaced, and told", () => {
    expect(answerOf(box(well, { resultText: '"a\\ud800b"' }), "fd3")).toMatchObject({
      outputJson: '"a\\ufffdb"',
      illFormed: true,
    });
  });

  test.each([null, "", " \n\t"])("without a result (%j): no success", (resultText) => {
    expect(errorOf(answerOf(box(well, { resultText, stderrTail: "hm" }), "fd3"))).toEqual({
      code: "result_missing",
      message: "the tool ended well and wrote no result to file descriptor 3",
      retryable: false,
      details: { stderr: "hm" },
    });
    expect(errorOf(answerOf(box(well, { resultText }), "stdout")).message).toContain("to stdout");
  });

  test.each([
    "hello",
    "{",
    "{} {}",
    "{'a':1}",
    "NaN",
    '{"a":1}\n{"b":2}',
    "[".repeat(100_000),
    `${"[".repeat(65)}${"]".repeat(65)}`,
  ])("with what is not JSON, or too deep (%.20s)", (resultText) => {
    expect(errorOf(answerOf(box(well, { resultText }), "fd3"))).toMatchObject({
      code: "result_not_json",
      message: expect.stringMatching(/^what the tool wrote to file descriptor 3 is not JSON: /),
    });
  });

  test("keys that mean something to JavaScript are keys like any other", () => {
    expect(answerOf(box(well, { resultText: '{"__proto__":1}' }), "fd3")).toMatchObject({
      outputJson: '{"__proto__":1}',
    });
  });
});

describe("a tool that does not", () => {
  test.each([
    [1, "the tool ended with exit code 1"],
    [126, "the tool ended with exit code 126 (not executable)"],
    [127, "the tool ended with exit code 127 (not found)"],
    [255, "the tool ended with exit code 255"],
  ])("exit code %i, whatever result it wrote", (code, message) => {
    const answer = answerOf(
      box(
        { reason: "exited", code },
        { resultText: '{"ok":true}', stderrTail: "no such file\n", truncated: ["stdout"] },
      ),
      "fd3",
    );
    expect(errorOf(answer)).toEqual({
      code: "exited",
      message,
      retryable: false,
      details: { exit_code: code, stderr: "no such file\n", truncated: ["stdout"] },
    });
  });

  test("a signal", () => {
    expect(errorOf(answerOf(box({ reason: "crashed", signal: "SIGSEGV" }, { stderrTail: "x" }), "fd3"))).toEqual({
      code: "crashed",
      message: "the tool ended by signal SIGSEGV",
      retryable: false,
      details: { signal: "SIGSEGV", stderr: "x" },
    });
  });

  test("a limit, with its true cause", () => {
    const answer = answerOf(
      box({ reason: "exceeded", resource: "memory", limit: 268_435_456, observed: 268_435_457 }, { resultText: "{}" }),
      "fd3",
    );
    expect(errorOf(answer)).toEqual({
      code: "resource_exceeded",
      message: "the tool was stopped at its limit of 268435456 bytes of memory; it had reached 268435457",
      retryable: false,
      details: { resource: "memory", limit: 268_435_456, observed: 268_435_457 },
    });
    expect(answer.status === "failed" && exceededIn(answer.error)).toEqual({
      resource: "memory",
      limit: 268_435_456,
      observed: 268_435_457,
    });
  });

  test.each(["timeout", "cancelled"] as const)("%s, also when it wrote a result inside its grace", (reason) => {
    expect(answerOf(box({ reason }, { resultText: "{}" }), "fd3")).toEqual({
      status: "cancelled",
      reason,
      usage: told,
    });
  });

  test("a backend that failed knows of no end", () => {
    expect(answerOf(box({ reason: "lost", message: "the helper died" }, { resultText: "{}" }), "fd3")).toEqual({
      status: "lost",
      message: "the helper died",
    });
  });
});

test("a host that cannot tell the memory says nothing of it", () => {
  expect(answerOf(box(well, { resultText: "1", usage: { ...usage, peakMemoryBytes: null } }), "fd3")).toMatchObject({
    usage: { durationMs: 12, cpuMs: 8 },
  });
});

describe("stderr in an error", () => {
  const tailOf = (stderrTail: string): string => {
    const { details } = errorOf(answerOf(box({ reason: "exited", code: 1 }, { stderrTail }), "fd3"));
    return (details as { stderr: string }).stderr;
  };

  test("is its end, of 4 KiB at most, cut between characters", () => {
    expect(tailOf(`${"a".repeat(9_000)}END`)).toBe(`${"a".repeat(4_093)}END`);
    expect(tailOf("é".repeat(4_000))).toBe("é".repeat(2_048));
    expect(tailOf(`${"x".repeat(3)}${"😀".repeat(2_000)}`)).toBe("😀".repeat(1_024));
  });

  test.each([
    ["zeros", "\0".repeat(4_096)],
    ["colours", "\u001b[31m".repeat(1_000)],
    ["quotes", '"\\'.repeat(2_048)],
    ["halves of pairs", "\ud800".repeat(4_096)],
  ])("fits into the details of an error, also when it is all %s", (_, stderrTail) => {
    const answer = answerOf(box({ reason: "exited", code: 1 }, { stderrTail }), "fd3");
    const json = answer.status === "failed" ? (answer.error.detailsJson ?? "") : "";
    expect(Buffer.byteLength(json)).toBeLessThan(16 * 1024);
    expect(json).not.toMatch(/\\ud8/);
    expect(tailOf(stderrTail).length).toBeGreaterThan(500);
  });

  test("whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 6_000, size: "max" }), (stderrTail) => {
        const { details } = errorOf(answerOf(box({ reason: "exited", code: 1 }, { stderrTail }), "fd3"));
        const { stderr = "" } = details as { stderr?: string };
        expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(4_096);
        expect(stderrTail.isWellFormed() ? stderrTail.endsWith(stderr) : true).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

test.each([
  [{ code: "exited", message: "", retryable: false, detailsJson: '{"resource":"memory","limit":1,"observed":2}' }],
  [{ code: "resource_exceeded", message: "", retryable: false }],
  [{ code: "resource_exceeded", message: "", retryable: false, detailsJson: "null" }],
  [{ code: "resource_exceeded", message: "", retryable: false, detailsJson: "{" }],
  [
    {
      code: "resource_exceeded",
      message: "",
      retryable: false,
      detailsJson: '{"resource":"patience","limit":1,"observed":2}',
    },
  ],
  [
    {
      code: "resource_exceeded",
      message: "",
      retryable: false,
      detailsJson: '{"resource":"memory","limit":"1","observed":2}',
    },
  ],
])("%j is no breach", (error) => {
  expect(exceededIn(error)).toBeUndefined();
});
