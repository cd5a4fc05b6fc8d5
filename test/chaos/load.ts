// The callers of a chaos run: each asks for one call after the other under a key of its own, and holds the key until it is answered.
import { setTimeout as wait } from "node:timers/promises";
import { seeded, type Random } from "../walk/random.ts";
import { createAsker, executionIdOf, type Answer } from "./ask.ts";
import { chaosTools } from "./tools.ts";
import type { Held } from "./types.ts";

export interface LoadOptions {
  readonly urls: readonly string[];
  readonly key: string;
  /** Of somebody who approves whatever is asked. */
  readonly approverKey: string;
  readonly seed: number;
  readonly callers: number;
}

export interface LoadEnd {
  readonly held: readonly Held[];
  /** Answers that nobody should get, in words. */
  readonly problems: readonly string[];
}

export interface Load {
  /** Asks for nothing new; resolves when every key is answered and everything that was asked is approved, or `msMax` later. */
  finish(msMax: number): Promise<LoadEnd>;
}

/** Between two calls of one caller, evenly from 0. */
const pauseMsMax = 60;
const voteAgainMs = 200;
const waitMs = 2_000;
const ended = new Set(["denied", "succeeded", "failed", "timed_out", "cancelled"]);

export function startLoad(options: LoadOptions): Load {
  const held: Held[] = [];
  const problems: string[] = [];
  const approvals: Promise<void>[] = [];
  const giveUp = new AbortController();
  let isOver = false;
  const approver = createAsker(options.urls, options.approverKey);

  const caller = async (number: number): Promise<void> => {
    const random = seeded(options.seed * 1_000 + number);
    const asker = createAsker(options.urls, options.key);
    for (let turn = 0; !isOver; turn++) {
      const key = `chaos-${options.seed}-${number}-${turn}`;
      const body = callOf(random);
      let answer: Answer | undefined;
      try {
        answer = await asker.until(giveUp.signal, "POST", "/v1/executions", body, { "idempotency-key": key });
      } catch {
        // The end is near, and nobody has answered: what is held says so.
      }
      held.push(heldOf(key, body.tool, answer));
      const approvalId = answer?.body["approval_id"];
      if (answer?.body["status"] === "awaiting_approval" && typeof approvalId === "string") approvals.push(approve(approvalId));
      await wait(random.next() * pauseMsMax);
    }
  };
  /** Looks and votes until the question is closed: a vote that met another one is to be cast again, and says so (409). */
  const approve = async (approvalId: string): Promise<void> => {
    const path = `/v1/approvals/${approvalId}`;
    try {
      for (;;) {
        const { status, body } = await approver.until(giveUp.signal, "GET", path);
        if (status === 200 && body["status"] !== "pending") return;
        const vote = { decision: "approve", args_hash: body["args_hash"] };
        const said = await approver.until(giveUp.signal, "POST", `${path}/votes`, vote);
        if (said.status !== 200 && said.status !== 409)
          problems.push(`a vote on ${approvalId} (looked at: ${status}) was answered ${said.status} ${JSON.stringify(said.body)}`);
        await wait(voteAgainMs);
      }
    } catch {
      problems.push(`${approvalId} could not be closed by its approver`);
    }
  };

  const callers = Promise.all(Array.from({ length: options.callers }, (_, number) => caller(number)));
  return {
    async finish(msMax) {
      isOver = true;
      const late = setTimeout(() => giveUp.abort(), msMax);
      await callers;
      await Promise.all(approvals);
      clearTimeout(late);
      return { held, problems };
    },
  };
}

function callOf(random: Random): { readonly tool: string; readonly input: { readonly ms: number }; readonly mode: string } {
  let at = random.next() * chaosTools.reduce((sum, { share }) => sum + share, 0);
  const tool = chaosTools.find(({ share }) => (at -= share) < 0);
  if (tool === undefined) throw new Error("the shares of the tools do not add up");
  const ms = Math.round(tool.fromMs + random.next() * (tool.toMs - tool.fromMs));
  const how = random.chance(0.5) ? { mode: "async" } : { mode: "sync", wait_ms: waitMs };
  return { tool: tool.name, input: { ms }, ...how };
}

function heldOf(key: string, tool: string, answer: Answer | undefined): Held {
  const status = answer?.body["status"];
  return {
    key,
    tool,
    executionId: answer === undefined ? undefined : executionIdOf(answer.body),
    toldStatus: typeof status === "string" && ended.has(status) ? status : undefined,
  };
}
