// Judges how a run of JavaScript ended: the first reason wins, and a limit outranks the error that the code made of it.
import { messageCharsMax, type GuestEnd } from "../../guest/end.ts";
import { wasm } from "./engine.ts";
import type { WatchedMemory } from "./watched-memory.ts";

/** The code failed by itself; the message is for whoever wrote it. */
export class CodeFailure extends Error {
  /** The engine's own error for a refused allocation, which a larger request than the whole address space gets at once. */
  readonly outOfMemory: boolean;
  constructor(message: string) {
    super(message.slice(0, messageCharsMax));
    this.outOfMemory = message.startsWith("InternalError: out of memory");
  }
}

export interface Verdict {
  start(): void;
  /** True once the deadline has passed; that it was asked and said so is what makes the end a timeout. */
  isOver(): boolean;
  /** The result outgrew its limit while it was being written. */
  noteTooLarge(observed: number): void;
  /** Runs the code and names its end. @throws whatever is neither the code's nor the engine's */
  of(run: () => string): GuestEnd;
}

export interface VerdictParts {
  readonly limits: { readonly timeoutMs: number; readonly resultBytes: number };
  readonly watched: WatchedMemory;
  monotonicMs(): number;
}

export function createVerdict({ limits, watched, monotonicMs }: VerdictParts): Verdict {
  let deadlineMs = Infinity;
  let interrupted = false;
  let tooLarge: number | null = null;
  const output = (observed: number): GuestEnd => ({
    reason: "exceeded",
    resource: "output",
    limit: limits.resultBytes,
    observed,
  });
  const afterFailure = (message: string, outOfMemory: boolean): GuestEnd => {
    if (interrupted) return { reason: "timeout" };
    if (tooLarge !== null) return output(tooLarge);
    const refused = watched.refusedBytes();
    if (refused === null && !outOfMemory) return { reason: "failed", message };
    const limit = watched.limitBytes;
    return { reason: "exceeded", resource: "memory", limit, observed: Math.max(refused ?? 0, limit) };
  };
  return {
    start() {
      deadlineMs = monotonicMs() + limits.timeoutMs;
    },
    isOver() {
      interrupted ||= monotonicMs() >= deadlineMs;
      return interrupted;
    },
    noteTooLarge(observed) {
      tooLarge = observed;
    },
    of(run) {
      try {
        const resultText = run();
        if (interrupted) return { reason: "timeout" };
        const bytes = Buffer.byteLength(resultText);
        return bytes > limits.resultBytes ? output(bytes) : { reason: "done", resultText };
      } catch (error) {
        const failure = failureOf(error);
        if (failure === null) throw error;
        return afterFailure(failure.message, failure.outOfMemory);
      }
    },
  };
}

/** What of an error is the code's doing: its own failure, or an engine that its code brought down. Null = ours. */
function failureOf(error: unknown): { readonly message: string; readonly outOfMemory: boolean } | null {
  if (error instanceof CodeFailure) return error;
  // The host's stack ran out below the interpreter's own limit, e.g. in JSON that is nested a hundred thousand times.
  if (error instanceof RangeError && error.message.includes("call stack")) {
    return { message: "RangeError: the code or its data is nested too deeply", outOfMemory: false };
  }
  if (error instanceof wasm.RuntimeError) {
    return { message: `the engine gave up: ${error.message}`.slice(0, messageCharsMax), outOfMemory: false };
  }
  return null;
}
