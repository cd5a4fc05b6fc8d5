// An agent works on the runtime: it looks something up, a person decides about its refund, and two kills in between change nothing.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { StoryFailed } from "../telling.ts";
import { repo, type Stage } from "../stage.ts";
import { people } from "./people.ts";

/** How long the bank takes, so that there is a middle of a payment to be killed in. */
const bankPauseMs = 1_500;

interface Session {
  readonly session_id: string;
  readonly status: string;
  readonly reply: string | null;
}

export async function agentIsPublished(stage: Stage): Promise<void> {
  cpSync(join(repo, "examples/demo/agent"), join(stage.folder, "agent"), { recursive: true });
  stage.telling.sentence("The runtime is started anew, and told where its agents' models are. This one plays a file of turns.");
  stage.telling.check("it left in good order", await stage.stopRuntime(), "exit code 0");
  stage.telling.check("it is back", await stage.startRuntime(["--models", "agent/models.yaml"]), { ready: true, first_start: false });
  await stage.cli("Payments above 1000 need a person of finance, whoever asks for them.", ["policies", "publish", "policies"], { linesMax: 4 });
  await stage.cli("An agent is a file as well: model, tools at exact versions, what it may do at most.", ["agents", "publish", "agent/agent.yaml", "--deploy"]);
}

export async function agentPaysARefund(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.stopWorker();
  const { fay } = await people(stage);
  await stage.startWorker({ DEMO_BANK_PAUSE_BEFORE_MS: String(bankPauseMs) });
  const before = stage.receipts().length;
  const message = { agent: "support", message: "Harbour Print wants its 1500 EUR back" };
  const { status, body } = await stage.rest("A customer writes, and a session begins.", "POST", "/v1/sessions", message);
  telling.check("it is taken", status < 300, true);
  const { session_id: id } = body as unknown as Session;
  await sessionIn(stage, id, "awaiting_approval");
  const { approvalId, callId } = await asked(stage, id);
  telling.sentence("The agent has looked into the orders, and wants to pay. A rule puts that to people; the session waits, in nobody's memory.");
  telling.sentence("The runtime is killed.");
  await stage.killRuntime();
  telling.check("it is back", await stage.startRuntime(["--models", "agent/models.yaml"]), { ready: true, first_start: false });
  telling.check("the session waits still", (await session(stage, id)).status, "awaiting_approval");
  await approve(stage, approvalId, fay);
  await stage.callIn(callId, "running");
  telling.sentence("The payment runs in the worker. The runtime is killed again, in the middle of it.");
  await stage.killRuntime();
  telling.check("it is back again", await stage.startRuntime(["--models", "agent/models.yaml"]), { ready: true, first_start: false });
  await sessionIn(stage, id, "awaiting_input");
  const end = await stage.rest("The worker came back with its result, and the session went on at that very step.", "GET", `/v1/sessions/${id}`);
  const receipts = stage.receipts().slice(before);
  telling.check("money was taken once", receipts, [{ call_id: callId, attempt: 1, amount: 1500 }]);
  telling.check("the agent knows it", (end.body as unknown as Session).reply, `Done: the refund is payment ${receipts[0]?.payment_id}.`);
  telling.check("the model was asked three times, for three answers", asksOf(stage), [0, 1, 2]);
}

async function session(stage: Stage, id: string): Promise<Session> {
  const { body } = await stage.ask("GET", `/v1/sessions/${id}`);
  return body as unknown as Session;
}

async function sessionIn(stage: Stage, id: string, status: string): Promise<void> {
  let found: Session | undefined;
  await stage.until(
    () => `the session to be ${status}; it is ${found?.status}`,
    async () => (found = await session(stage, id)).status === status,
    30_000,
  );
}

async function asked(stage: Stage, id: string): Promise<{ readonly approvalId: string; readonly callId: string }> {
  const { body } = await stage.ask("GET", "/v1/approvals?status=pending");
  const items = body["items"] as readonly { readonly approval_id: string; readonly execution_id: string | null }[];
  const question = items.find(({ execution_id: call }) => call?.startsWith(id) === true);
  if (question?.execution_id === undefined || question.execution_id === null) throw new StoryFailed("nobody is asked about the agent's payment");
  return { approvalId: question.approval_id, callId: question.execution_id };
}

async function approve(stage: Stage, approvalId: string, fay: Awaited<ReturnType<typeof people>>["fay"]): Promise<void> {
  const { body } = await stage.ask("GET", `/v1/approvals/${approvalId}`);
  const yes = ["approvals", "approve", approvalId, "--args-hash", String(body["args_hash"]), "--comment", "the customer is right"];
  await stage.cli("Fay of finance sees what the agent wants to do, and says yes.", yes, { as: fay });
}

/** Which answers the model was asked for, in order. */
function asksOf(stage: Stage): readonly number[] {
  const lines = readFileSync(join(stage.folder, "agent/asked.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => (JSON.parse(line) as { readonly position: number }).position);
}
