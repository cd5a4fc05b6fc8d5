// Runs one call in one box: reads its order, opens what it needs, streams what it says, and makes the worker's answer of its end.
import { boxNotProvisioned, cutText, limits, type Invoke } from "@signalbox/protocol";
import type { BoxRunEnd, ToolContext } from "@signalbox/worker";
import type { BoxOrder } from "../corridor/boxes.ts";
import { eventReader, type BoxEvent } from "../sandbox/contract-events.ts";
import { answerOf, type BoxAnswer } from "../sandbox/contract-result.ts";
import { requestText } from "../sandbox/contract.ts";
import type { BoxFile, BoxIo, BoxPackage, BoxSpec, Sandbox, SandboxBackend } from "../sandbox/types.ts";
import { keepPrinted, reportBytesMax, reportText, type Printed } from "./report.ts";

export interface CallBoxes {
  readonly backends: ReadonlyMap<string, SandboxBackend>;
  openPackage(tenant: string, digest: string): Promise<BoxPackage>;
  openFile(tenant: string, digest: string): Promise<string>;
  newBoxId(): string;
  /** Aborts after so long. */
  after(ms: number): AbortSignal;
  onError(error: Error): void;
}

/**
 * The runtime's clock decides that a call has timed out, and tells the worker; the box's own is the net below, for a
 * runtime that is away.
 */
const ownTimeoutMarginMs = 5_000;
/** Less than the runtime waits for the word that a call has started: after that it takes the call for lost. */
const provisionMsMax = 8_000;

/** @param started called when the box stands: from then on code of the tool may have run */
export async function runCall(boxes: CallBoxes, ctx: ToolContext, started: () => void): Promise<BoxRunEnd> {
  const made = await provision(boxes, ctx);
  if (!("sandbox" in made)) return made;
  const { order, sandbox, files } = made;
  try {
    if (ctx.signal.aborted) return notStarted("the call was stopped while its box was made");
    const request = requestText(ctx.invoke.argsJson, { ...ctx.invoke, timeoutMs: ctx.invoke.timeoutMs }, {});
    const printed = order.report === "run" ? keepPrinted() : undefined;
    started();
    const io = ioOf(ctx, order.events, printed);
    const result = await sandbox.run({ requestJson: request, files, resultFrom: order.resultFrom }, io, ctx.signal);
    return endOf(answerOf(result, order.resultFrom), sandbox.warm, printed);
  } finally {
    // Off the way: the tree is dead, what is left are folders.
    sandbox.destroy().catch((error: unknown) => boxes.onError(error as Error));
  }
}

interface Made {
  readonly order: BoxOrder;
  readonly sandbox: Sandbox;
  readonly files: readonly BoxFile[];
}

/** Nothing of the tool runs in here, so whatever fails, another worker may try. */
async function provision(boxes: CallBoxes, { invoke, signal }: ToolContext): Promise<Made | BoxRunEnd> {
  try {
    const order = JSON.parse(invoke.boxJson ?? "{}") as BoxOrder;
    const backend = boxes.backends.get(order.backend);
    if (backend === undefined) throw new Error(`this worker offers no ${order.backend} box`);
    const files = await Promise.all(
      invoke.files.map(async ({ path, digest }) => ({ path, hostPath: await boxes.openFile(invoke.tenant, digest) })),
    );
    const spec = await specOf(boxes, order, invoke);
    const sandbox = await backend.provision(spec, AbortSignal.any([signal, boxes.after(provisionMsMax)]));
    return { order, sandbox, files };
  } catch (error) {
    return notStarted(error instanceof Error ? error.message : String(error));
  }
}

function notStarted(message: string): BoxRunEnd {
  return { status: "not_started", code: boxNotProvisioned, message: cutText(message) };
}

function endOf(answer: BoxAnswer, warm: boolean, printed: Printed | undefined): BoxRunEnd {
  if (answer.status === "lost") return answer;
  const { durationMs: _inBox, ...measured } = answer.usage;
  const usage = { ...measured, warm };
  switch (answer.status) {
    case "failed":
      return { status: "failed", error: answer.error, usage };
    case "cancelled":
      // Where the runtime asked for the stop, the worker's core makes a confirmed one of it, whatever is said here.
      return { status: "failed", error: { ...stoppedBy[answer.reason], retryable: false }, usage };
    case "succeeded": {
      const outputJson = printed === undefined ? answer.outputJson : reportText(answer.outputJson, printed);
      return { status: "succeeded", outputJson, illFormed: answer.illFormed, usage };
    }
  }
}

const stoppedBy = {
  timeout: { code: "timeout", message: "the tool ran past its time, and the box's own clock stopped it" },
  cancelled: { code: "stopped", message: "the sandbox worker stopped the tool: it had to leave" },
} as const;

async function specOf(boxes: CallBoxes, order: BoxOrder, invoke: Invoke): Promise<BoxSpec> {
  const found = order.packageDigest === null ? null : await boxes.openPackage(order.toolTenant, order.packageDigest);
  return {
    boxId: boxes.newBoxId(),
    tenant: invoke.tenant,
    tool: invoke.tool,
    version: invoke.version,
    runtime: order.runtime,
    entry: order.entry,
    package: found,
    limits: {
      ...order.limits,
      timeoutMs: invoke.timeoutMs + ownTimeoutMarginMs,
      graceMs: order.graceMs,
      resultBytes: Math.min(order.resultBytes, limits.resultBytesMax) - (order.report === "run" ? reportBytesMax : 0),
    },
    env: order.env,
    egressSocket: null,
  };
}

function ioOf(ctx: ToolContext, declared: readonly string[], printed: Printed | undefined): BoxIo {
  const events = eventReader(declared);
  const pass = (channel: "stdout" | "stderr", chunk: Uint8Array): Promise<void> => {
    printed?.[channel].push(chunk);
    ctx.output(channel, chunk);
    // A tool is held back rather than cut where its readers are slow.
    return ctx.flushed();
  };
  return {
    stdout: (chunk) => pass("stdout", chunk),
    stderr: (chunk) => pass("stderr", chunk),
    event: (line) => {
      const event = events.read(line);
      if (event !== undefined) tell(ctx, event);
    },
  };
}

function tell(ctx: ToolContext, event: BoxEvent): void {
  switch (event.type) {
    case "progress":
      return ctx.progress(event.percent, event.message);
    case "partial":
      return ctx.output("partial", event.json);
    case "log":
      return ctx.log(event.line);
    case "emit":
      return ctx.emitJson(event.eventType, event.payloadJson);
    case "refused":
      return ctx.log(`file descriptor 4: ${event.reason}`);
  }
}
