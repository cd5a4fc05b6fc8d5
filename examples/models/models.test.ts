// The files of this folder are what they say: providers that open, and a conversation that is played to its end.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openModels } from "../../packages/runtime/src/adapters/models/configured.ts";
import { answerAt, askModel, call, requestOf, results, said, told, user } from "../../test/support/model-requests.ts";
import { HandClock } from "../../test/support/hand-clock.ts";

const file = fileURLToPath(new URL("models.yaml", import.meta.url));
const env = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" };
const choice = { provider: "scripted", name: "support", maxOutputTokens: 100, temperature: undefined };

test("opens four providers, and the scripted one plays a refund", async () => {
  const { models, providers } = await openModels({ file, env, clock: new HandClock(0) });
  expect(providers.map(({ name }) => name)).toEqual(["anthropic", "openai", "local", "scripted"]);
  const model = models("scripted");
  if (model === undefined) throw new Error("scripted is configured");
  const hello = user("A refund, please");
  const calls = [call("scripted_0_0", '{"question":"A refund, please"}', "find_order"), call("scripted_0_1", "{}", "find_customer")];
  const first = await askModel(model, requestOf([hello], { choice }));
  expect(first.outcome).toMatchObject({ ok: true, stop: "tool_use", parts: [said("I look up the order and the customer."), ...calls] });
  const found = results(told(0, "scripted_0_0", '{"order":7}', false, "find_order"), told(1, "scripted_0_1", '{"name":"Ann"}', false, "find_customer"));
  const second = await askModel(model, requestOf([hello, answerAt(1, "tool_use", ...calls), found], { choice }));
  expect(second.outcome).toMatchObject({ ok: true, stop: "end_turn", parts: [said("Order 7 of Ann will be paid back.")] });
});
