// The same idempotency key again runs nothing: the first call answers.
import { idIn, type Stage } from "../stage.ts";

const input = { amount: 120, currency: "EUR", payee: "Studio Nine" };
const key = "order-1042";

export async function sameKeyRunsNothing(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const before = stage.receipts().length;
  const args = ["run", "payments.charge", "--input", JSON.stringify(input), "--idempotency-key", key];
  const first = await stage.cli("A payment under a key of the caller's own.", args);
  telling.check("money was taken once", stage.receipts().length, before + 1);
  const second = await stage.cli("The caller is not sure that it went through, and asks again.", args);
  telling.check("the same call answers", idIn(second.stderr), idIn(first.stderr));
  telling.check("with the same result", JSON.parse(second.stdout), JSON.parse(first.stdout));

  const requests = Array.from({ length: 20 }, () =>
    stage.ask("POST", "/v1/executions", { tool: "payments.charge", input, idempotency_key: key }),
  );
  telling.sentence("Twenty more at once, over REST.");
  const ids = new Set((await Promise.all(requests)).map(({ body }) => body["execution_id"]));
  telling.check("one call answers all of them", [...ids], [idIn(first.stderr)]);

  const other = await stage.rest(
    "The same key for another payment is a mistake, and is told.",
    "POST",
    "/v1/executions",
    {
      tool: "payments.charge",
      input: { ...input, amount: 121 },
      idempotency_key: key,
    },
  );
  telling.check("409 idempotency_conflict", other, {
    status: 409,
    body: { error: { code: "idempotency_conflict", retryable: false } },
  });
  telling.check("after all of this, money was taken once", stage.receipts().length, before + 1);
}
