// The first policy: its cases hold, before it is published and when it is in force.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examples } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import { startStack, type Stack } from "../../test/support/stack.ts";

const here = join(examples, "first-policy");
let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ args: ["--tools", `${examples}/tools`] });
});
afterAll(() => finish(stack));

test("every case comes to what it should", async () => {
  const cases = ["policies", "test", join(here, "cases.yaml")];
  const tried = await stack.cli([...cases, "--policies", join(here, "policies")]);
  expect(tried).toMatchObject({ code: 0, err: expect.stringMatching(/^4 passed$/m) });
  expect((await stack.cli(["policies", "publish", join(here, "policies")])).code).toBe(0);
  expect(await stack.cli(cases)).toMatchObject({ code: 0, err: expect.stringMatching(/^4 passed$/m) });
});

test("an agent that wants too much is told what to do instead", async () => {
  const agent = await stack.makeKey({ principal: "agent:buyer", scopes: ["tools:invoke"], grants: ["tool:invoke:*"] });
  const input = { amount: 100.01, currency: "EUR", payee: "Studio Nine" };
  const { status, body } = await agent.rest.invoke({ tool: "payments.charge", input });
  expect([status, body.error?.code]).toEqual([403, "forbidden"]);
  expect(body.error?.message).toContain("ask a person for more");
});
