// A very large payment needs two people, neither of whom may be the one who asks.
import { idIn, type Stage } from "../stage.ts";
import { pay, people } from "./people.ts";

export async function twoPeopleDecide(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const { rita, fay, gus } = await people(stage);
  const before = stage.receipts().length;
  const asked = await stage.cli("A very large payment.", [...pay({ amount: 25_000 }), "--async"], { as: rita });
  const [call, approval] = [idIn(asked.stdout), idIn(asked.stderr, "apr")];
  const { body } = await stage.ask("GET", `/v1/approvals/${approval}`);
  telling.check("two rules match; of finance the larger number is asked", body, {
    routes: [{ route: "finance", quorum: 2 }],
    policy: { rules: [{ policy: "payments-need-a-person" }, { policy: "very-large-payments-need-two" }] },
  });
  const hash = ["--args-hash", String(body["args_hash"])];
  const approve = ["approvals", "approve", approval, ...hash];

  const own = await stage.cli("Rita is of finance. It is her own payment, though.", approve, { as: rita, exitCode: 3 });
  telling.check("she has no vote here", own.stderr, /whoever asked for the call may not decide on it/);
  const first = await stage.cli("Fay says yes.", approve, { as: fay });
  telling.check("1 of 2", first.stdout, /^approved: 1 of 2$/m);
  const again = await stage.cli("She says it once more.", approve, { as: fay });
  telling.check("and counts once", again.stdout, /^approved: 1 of 2 \(you had said so before\)$/m);
  telling.check("nothing is taken yet", stage.receipts().length, before);
  const second = await stage.cli("Gus says yes.", approve, { as: gus });
  telling.check("that was enough", second.stdout, /^approved, the call is /m);
  await stage.callIn(call, "succeeded");
  telling.check("money was taken once", stage.receipts().slice(before), [
    { call_id: call, attempt: 1, amount: 25_000 },
  ]);
}
