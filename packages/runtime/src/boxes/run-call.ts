// Runs one call in one box: reads its order, opens what it needs, streams what it says, and makes the worker's answer of its end.
import type { Invoke } from "@signalbox/protocol";
import type { BoxRunEnd, ToolContext } from "@signalbox/worker";
import type { BoxOrder } from "../corridor/boxes.ts";
import { eventReader, type BoxEvent } from "../sandbox/contract-events.ts";
import { answerOf } from "../sandbox/contract-result.ts";
import { requestText } from "../sandbox/contract.ts";
import type { BoxFile, BoxIo, BoxPackage, BoxSpec, Sandbox, SandboxBackend } from "../sandbox/types.ts";

export interface CallBoxes {
  readonly backends: ReadonlyMap<string, SandboxBackend>;
  openPackage(tenant: string, digest: string): Promise<BoxPackage>;
  openFile(tenant: string, digest: string): Promise<string>;
  newBoxId(): string;
  onError(error: Error): void;
}

/**
 * The runtime's clock decides that a call has timed out, and tells the worker; the box's own is the net below, for a
 * runtime that is away.
 */
const ownTimeoutMarginMs = 5_000;

export async function runCall(boxes: CallBoxes, ctx: ToolContext, resultBytesMax: number): Promise<BoxRunEnd> {
  const { invoke } = ctx;
  let sandbox: Sandbox;
  let files: readonly BoxFile[];
  const order = JSON.parse(invoke.boxJson ?? "{}") as BoxOrder;
  try {
    const backend = boxes.backends.get(order.backend);
    if (backend === undefined) throw new Error(`this worker offers no ${order.backend} box`);
    files = await Promise.all(invoke.files.map(async ({ path, digest }) => ({ path, hostPath: await boxes.openFile(invoke.tenant, digest) })));
    sandbox = await backend.provision(await specOf(boxes, order, invoke, resultBytesMax), ctx.signal);
  } catch (error) {
    return notProvisioned(error);
  }
  try {
    const request = requestText(invoke.argsJson, { ...invoke, timeoutMs: invoke.timeoutMs }, {});
    const result = await sandbox.run({ requestJson: request, files, resultFrom: order.resultFrom }, ioOf(ctx, order.events), ctx.signal);
    const answer = answerOf(result, order.resultFrom);
    if (answer.status === "lost") return { status: "failed", error: { code: "box_lost", message: answer.message, retryable: false } };
    const { durationMs: _inBox, ...usage } = answer.usage;
    if (answer.status === "cancelled") {
      // The core makes "cancelled" of it where the runtime has asked for the stop; a box that stopped by its own clock has failed.
      return { status: "failed", error: { code: "timeout", message: "the tool ran past its time", retryable: false }, usage };
    }
    return answer.status === "failed" ? { status: "failed", error: answer.error, usage } : { status: "succeeded", outputJson: answer.outputJson, illFormed: answer.illFormed, usage };
  } finally {
    // Off the way: the tree is dead, what is left are folders.
    sandbox.destroy().catch((error: unknown) => boxes.onError(error as Error));
  }
}

function notProvisioned(error: unknown): BoxRunEnd {
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", error: { code: "box_not_provisioned", message, retryable: true } };
}

async function specOf(boxes: CallBoxes, order: BoxOrder, invoke: Invoke, resultBytesMax: number): Promise<BoxSpec> {
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
      resultBytes: Math.min(order.resultBytes, resultBytesMax),
    },
    env: order.env,
    egressSocket: null,
  };
}

function ioOf(ctx: ToolContext, declared: readonly string[]): BoxIo {
  const events = eventReader(declared);
  return {
    stdout: (chunk) => ctx.output("stdout", chunk),
    stderr: (chunk) => ctx.output("stderr", chunk),
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
