// What a row of the error table is proven by: a way to be answered with it, and what stands in that answer.
import type { ErrorCode, ErrorType } from "@signalbox/protocol";
import { workerTool } from "../../support/manifests.ts";
import type { Door } from "../../support/doors.ts";
import type { Gates } from "../../support/gates.ts";
import type { Reply, Rest } from "../../support/rest.ts";
import type { OfferedTool, Stack } from "../../support/stack.ts";

/** One runtime, met at one door. */
export interface World {
  readonly door: Door;
  readonly stack: Stack;
  readonly gates: Gates;
  /** The admin of first start, at this door. */
  readonly admin: Rest;
  as(key: string): Rest;
  /** Names of one door are not those of another, so that the same cases can be met at all of them in one runtime. */
  name(text: string): string;
  /** Registers a tool and, unless `handler` is left out, serves it. Resolves with its name. */
  tool(text: string, spec?: Readonly<Record<string, unknown>>, handler?: OfferedTool["handler"]): Promise<string>;
}

/** What is expected is written down here by hand, never read from the table that is on trial. */
export interface ErrorCase {
  readonly code: ErrorCode;
  readonly when: string;
  readonly http: number;
  /** The number of the gRPC status. */
  readonly grpc: number;
  readonly type: ErrorType;
  readonly retryable: boolean;
  /** Where it can be met, if not at every door. */
  readonly at?: Door["name"];
  /** What `details` must hold; more may stand there. */
  readonly details: Readonly<Record<string, unknown>> | ((world: World) => Readonly<Record<string, unknown>>);
  /** Whether the answer names the record that the refusal or the end left. */
  readonly recorded?: true;
  /** Seconds of `Retry-After`. */
  readonly retryAfter?: string;
  /** Where it takes longer than a test usually may. */
  readonly msMax?: number;
  reach(world: World): Promise<Reply>;
}

export function worldAt(door: Door, stack: Stack, gates: Gates): World {
  const name = (text: string): string => `${door.name.toLowerCase()}.${text}`;
  return {
    door,
    stack,
    gates,
    admin: door.as(stack, stack.adminKey),
    as: (key) => door.as(stack, key),
    name,
    async tool(text, spec = {}, handler) {
      const tool = name(text);
      await stack.register(workerTool(tool, "1.0.0", spec));
      if (handler !== undefined) await stack.startWorker(`w-${tool}`, [{ tool, handler, maxConcurrency: 1 }]);
      return tool;
    },
  };
}

/** For what must be there before the case itself. @throws Error with the answer */
export async function good(answer: Promise<Reply>): Promise<Reply> {
  const got = await answer;
  if (got.status >= 300) throw new Error(`${got.status} ${got.text}`);
  return got;
}
