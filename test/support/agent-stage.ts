// A real runtime whose agents are driven by a scripted model, with the command line that talks to them.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { cli, type Ended } from "./command-line.ts";
import { finish } from "./finish.ts";
import { agentDocument } from "./manifests.ts";
import type { Told } from "./rest.ts";
import { startStack, type Stack } from "./stack.ts";
import type { TraceOptions } from "./trace.ts";

export interface AgentStage {
  readonly stack: Stack;
  /** The environment in which a command finds the runtime. */
  env(key?: string): Readonly<Record<string, string>>;
  /** Runs `signalbox …` in this process. */
  cli(args: readonly string[], key?: string): Promise<Ended>;
  /** Publishes and deploys an agent; `tools` as its manifest says them. @throws Error with the answer when it is not taken */
  publish(name: string, spec: Readonly<Record<string, unknown>>): Promise<void>;
  session(id: string): Promise<Told>;
  /** Asks for the session again until it is in one of these states. @throws Error with the last one, after `waitMs` */
  until(id: string, states: readonly string[], waitMs?: number): Promise<Told>;
  close(options?: TraceOptions): Promise<void>;
}

const lookEveryMs = 50;

/** @param scripts by the names of models; agents of `agentDocument` use `turns` */
export async function startAgentStage(scripts: Readonly<Record<string, unknown>>, args: readonly string[] = []): Promise<AgentStage> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-stage-"));
  writeFileSync(join(folder, "turns.yaml"), stringify({ scripts }));
  writeFileSync(join(folder, "models.yaml"), stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml", trace_file: "trace.jsonl" } } }));
  const stack = await startStack({ args: ["--models", join(folder, "models.yaml"), ...args] });
  const env = (key = stack.adminKey): Readonly<Record<string, string>> => ({ SIGNALBOX_URL: stack.url(), SIGNALBOX_KEY: key });
  const session = async (id: string): Promise<Told> => (await stack.admin.get(`/v1/sessions/${id}`)).body;
  return {
    stack,
    env,
    cli: (args, key) => cli(args, { env: env(key), cwd: stack.folder, newId: randomUUID }),
    async publish(name, spec) {
      for (const [verb, path, body] of [
        ["PUT", "/v1/agents", agentDocument(name, "1.0.0", spec)],
        ["POST", `/v1/agents/${name}/deploy`, { version: "1.0.0" }],
      ] as const) {
        const { status, text } = await stack.admin.ask(verb, path, { body });
        if (status >= 300) throw new Error(`${verb} ${path} was not taken: ${status} ${text}`);
      }
    },
    session,
    async until(id, states, waitMs = 15_000) {
      const until = performance.now() + waitMs;
      for (;;) {
        const found = await session(id);
        if (states.includes(found.status ?? "")) return found;
        if (performance.now() > until) throw new Error(`session ${id} is still ${JSON.stringify(found)}, not ${states.join(" or ")}`);
        await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
      }
    },
    async close(options) {
      await finish(stack, options);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
