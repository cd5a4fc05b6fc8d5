// A call runs through: money is charged once, a real file is read, and the tool's own refusal is no runtime error.
import { idIn, type Stage } from "../stage.ts";

export async function callRunsThrough(stage: Stage): Promise<void> {
  await stage.worker();
  await charge(stage);
  await toolRefuses(stage);
  await summarize(stage);
}

async function charge(stage: Stage): Promise<void> {
  const { telling } = stage;
  const before = stage.receipts().length;
  const { stdout, stderr } = await stage.cli("A payment.", [
    "run",
    "payments.charge",
    "--input",
    '{"amount":49.9,"currency":"EUR","payee":"Lantern Books"}',
  ]);
  const id = idIn(stderr);
  const output = JSON.parse(stdout) as { readonly payment_id: string };
  telling.check("it was processed", output, { status: "processed", payment_id: /^pay_[0-9a-f]{12}$/ });
  telling.check("the bank took money once", stage.receipts().slice(before), [
    { payment_id: output.payment_id, call_id: id, attempt: 1, amount: 49.9 },
  ]);
  const { body } = await stage.rest("The record of it, over REST.", "GET", `/v1/executions/${id}`);
  telling.check("the record has the same outcome", body, {
    execution_id: id,
    tool: "payments.charge",
    version: "1.0.0",
    status: "succeeded",
    principal: "user:admin",
    output: { payment_id: output.payment_id },
    attempts: [{ attempt: 1, end_reason: "succeeded" }],
  });
}

/** What is too little money is a question of the business: the schema lets it pass, the tool does not. */
async function toolRefuses(stage: Stage): Promise<void> {
  const { telling } = stage;
  const before = stage.receipts().length;
  const answer = await stage.rest("The tool itself says no to an amount of zero.", "POST", "/v1/executions", {
    tool: "payments.charge",
    input: { amount: 0, currency: "EUR", payee: "Lantern Books" },
  });
  telling.check("422 tool_error with the tool's own code", answer, {
    status: 422,
    body: { status: "failed", error: { code: "tool_error", details: { tool_code: "invalid_args" } } },
  });
  telling.check("no receipt", stage.receipts().length, before);
}

/** The expected figures were found with another CSV reader and decimal arithmetic. */
async function summarize(stage: Stage): Promise<void> {
  const { stdout } = await stage.cli(
    "A file of 200 orders, with commas, quotes and line feeds inside of its fields, is parsed and added up.",
    ["run", "files.summarize@1.0.0", "--input", '{"path":"data/orders.csv"}'],
    { linesMax: 24 },
  );
  stage.telling.check("rows and sums are right", JSON.parse(stdout), {
    rows: 200,
    numbers: { quantity: { sum: 674, min: 1, max: 12 }, unit_price: { sum: 5358.45, min: 6.75, max: 89 } },
    top: {
      category: [
        { value: "coffee", rows: 70 },
        { value: "tea", rows: 46 },
        { value: "cups", rows: 32 },
      ],
      customer: [
        { value: 'The "Third" Place', rows: 24 },
        { value: "Petra Novák", rows: 22 },
        { value: "Lantern Books", rows: 18 },
      ],
    },
  });
}
