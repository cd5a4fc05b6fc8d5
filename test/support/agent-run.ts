// An agent at a real runtime: a file of turns for its model, with a trace of what was asked, and a session as REST tells it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { agentDocument } from "./manifests.ts";
import type { Rest, Told } from "./rest.ts";

export interface ScriptedProvider {
  /** For `--models`. */
  readonly file: string;
  /** Places in the script at which the model was asked, in order, by all processes. */
  asked(): readonly number[];
}

/** The provider `scripted` with one model, `turns`. */
export function scriptedProvider(folder: string, completions: readonly unknown[]): ScriptedProvider {
  const [file, turns, trace] = ["models.yaml", "turns.yaml", "trace.jsonl"].map((name) => join(folder, name)) as [string, string, string];
  writeFileSync(turns, JSON.stringify({ scripts: { turns: { completions } } }));
  writeFileSync(file, JSON.stringify({ providers: { scripted: { type: "scripted", file: turns, trace_file: trace } } }));
  const asked = (): readonly number[] => {
    const lines = existsSync(trace) ? readFileSync(trace, "utf8").split("\n").filter((line) => line !== "") : [];
    return lines.map((line) => (JSON.parse(line) as { readonly position: number }).position);
  };
  return { file, asked };
}

/** @throws Error with the answer when it is not taken */
export async function deployAgent(admin: Rest, name: string, tools: readonly string[]): Promise<void> {
  for (const answer of [
    await admin.put("/v1/agents", agentDocument(name, "1.0.0", { tools: tools.map((tool) => ({ tool: `${tool}@1.0.0` })) })),
    await admin.post(`/v1/agents/${name}/deploy`, { version: "1.0.0" }),
  ])
    if (answer.status >= 300) throw new Error(`the agent was not taken: ${answer.status} ${answer.text}`);
}

export async function startSession(admin: Rest, agent: string, message: string): Promise<string> {
  const { status, body, text } = await admin.post("/v1/sessions", { agent, message });
  if (status >= 300) throw new Error(`the session was not started: ${status} ${text}`);
  return String(body["session_id"]);
}

/** Asks for the session until it is in this state. */
export async function sessionIn(rest: Rest, id: string, status: string, waitMs = 10_000): Promise<Told> {
  let seen: Told = {} as Told;
  await expect
    .poll(
      async () => {
        seen = (await rest.get(`/v1/sessions/${id}`)).body;
        return seen.status;
      },
      { timeout: waitMs, interval: 30 },
    )
    .toBe(status);
  return seen;
}

/** What the stream of a session has told, in short words, each with its seq as its place. */
export async function wordsOf(rest: Rest, id: string): Promise<readonly string[]> {
  const { body } = await rest.get(`/v1/sessions/${id}/events?limit=200`);
  return (body.items ?? []).map((event, at) => (event["seq"] === at + 1 ? String(event["type"]) : `${String(event["type"])} out of order`));
}
