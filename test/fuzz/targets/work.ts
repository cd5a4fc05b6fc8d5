// A worker that says anything in any order: its own calls come to some end, no other call is disturbed, and nothing throws.
import { decodeWorker, type WorkerMessage } from "@signalbox/protocol";
import fc from "fast-check";
import { isTerminal } from "../../../packages/runtime/src/call/types.ts";
import { Corridor } from "../../support/corridor.ts";
import type { HandStream } from "../../support/hand-stream.ts";
import { target } from "../target.ts";
import { anyWorkerMessage, framed, readFrames, workerBytes, writeFrames, type Frame } from "../words.ts";

/** A corridor is slow to make, and what calls leave behind slows it down. */
const runsPerCorridor = 150;
const callsPerRun = 3;

export const workTarget = target<readonly Frame<WorkerMessage>[]>({
  name: "work",
  about: "what a worker says",
  async open() {
    let corridor = await opened();
    let runs = 0;
    return {
      inputs: fc.array(framed(anyWorkerMessage), { minLength: 1, maxLength: 25 }),
      async check(frames) {
        if (runs++ % runsPerCorridor === runsPerCorridor - 1) {
          await corridor.close();
          corridor = await opened();
        }
        await converse(corridor, frames, runs);
      },
      write: writeFrames,
      read: readFrames<WorkerMessage>,
      close: () => corridor.close(),
    };
  },
});

async function opened(): Promise<Corridor> {
  const corridor = new Corridor({ queueDepthPerTenantMax: 1_000, workersPerTenantMax: 1_000 });
  await corridor.runtime.recover();
  await corridor.tool({ name: "still", spec: { input: {}, side_effect_class: "read_only" } });
  await corridor.tool({ name: "pay", spec: { input: {} } });
  await corridor.tool({ name: "slow", spec: { input: {}, side_effect_class: "read_only" } });
  await corridor.grant(["*"]);
  return corridor;
}

async function converse(corridor: Corridor, frames: readonly Frame<WorkerMessage>[], run: number): Promise<void> {
  const honest = corridor.worker(`honest-${run}`, { tools: { still: 5 } });
  const hostile = corridor.worker(`a-hostile-${run}`, { tools: { pay: 2, slow: 2 }, capacity: 4 });
  const ids: string[] = [];
  for (let n = 0; n < callsPerRun; n++) {
    const tool = n % 2 === 0 ? "pay" : "slow";
    ids.push((await corridor.invoke({ tool, input: { n }, deadlineMs: 300_000 })).call.callId);
  }
  await corridor.settle();
  for (const [at, frame] of frames.entries()) {
    hostile.say(decodeWorker(workerBytes(frame, ids)));
    // Some come in one breath, some after what the earlier ones set off.
    if (at % 3 === 0) await corridor.settle();
  }
  await corridor.settle();
  await stillWorks(corridor, honest);
  // A stream may only be closed on who broke its first rule, which the honest register above kept; or it was told why.
  if (hostile.closedFor !== undefined && hostile.closedFor === "") throw new Error("a stream was closed without a word");
  hostile.close("the test is over");
  await ends(corridor, ids);
  honest.close("the test is over");
  await corridor.settle();
}

/** The worker beside does its work as if nobody else was there. */
async function stillWorks(corridor: Corridor, honest: HandStream): Promise<void> {
  const { call } = await corridor.invoke({ tool: "still", input: { still: "here" } });
  await corridor.settle();
  const invoke = honest.sent.findLast((message) => message.type === "invoke" && message.callId === call.callId);
  if (invoke?.type !== "invoke") throw new Error("the worker beside is not given its call");
  const { callId, fence, argsJson } = invoke;
  honest.say({ type: "accepted", callId, fence });
  honest.say({ type: "started", callId, fence });
  honest.say({ type: "result", callId, fence, status: "succeeded", outputJson: argsJson, usage: { durationMs: 1 } });
  await corridor.settle();
  const end = await corridor.ledger.getCall("acme", callId);
  if (end?.state !== "succeeded") throw new Error(`the call beside is ${String(end?.state)}`);
}

/** By their deadlines at the latest; what may have happened waits for a person. No event is missing, no fence goes back. */
async function ends(corridor: Corridor, ids: readonly string[]): Promise<void> {
  for (let minutes = 0; minutes < 8; minutes++) {
    await corridor.clock.pass(60_000);
    await corridor.settle();
  }
  for (const id of ids) {
    const call = await corridor.ledger.getCall("acme", id);
    if (call === undefined) throw new Error("a call is gone");
    if (!isTerminal(call.state) && call.state !== "indeterminate") throw new Error(`a call was left ${call.state}`);
    const events = await corridor.ledger.events("acme", id, 0, 1_000);
    events.forEach(({ seq }, at) => {
      if (seq !== at + 1) throw new Error(`event ${seq} stands at place ${at + 1}`);
    });
    if (events.at(-1)?.type !== call.state && call.state !== "indeterminate") throw new Error(`the last event of a ${call.state} call is ${String(events.at(-1)?.type)}`);
  }
}
