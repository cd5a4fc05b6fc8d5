// Types of calls: a map of tools makes wrong names, inputs and uses of outputs errors of the compiler; without one all is free.
import { expect, expectTypeOf, test } from "vitest";
import { isOpen } from "./call-types.ts";
import type { InvokedCall, OpenCall, SucceededCall } from "./call-types.ts";
import { createClient } from "./client.ts";
import type { Client } from "./client.ts";
import type { CallStreamEvent } from "./stream-types.ts";

interface Charge {
  readonly amount: number;
  readonly currency: "EUR" | "USD";
}

interface Tools {
  "payments.charge": { input: Charge; output: { readonly id: string } };
  "clock.now": { input: Record<string, never>; output: string };
}

const answer = { execution_id: "exec_1", status: "succeeded", output: { id: "ch_1" } };
const options = {
  url: "http://runtime.test",
  fetch: async () => new Response(JSON.stringify(answer)),
} as const;

test("with a map the output of each tool has its type, in both forms", async () => {
  const client = createClient<Tools>(options);
  expectTypeOf(client).toEqualTypeOf<Client<Tools>>();
  const call = await client.invoke("payments.charge", { amount: 1, currency: "EUR" });
  expectTypeOf(call).toEqualTypeOf<InvokedCall<{ readonly id: string }>>();
  const same = await client.invoke({ tool: "payments.charge", input: { amount: 1, currency: "EUR" }, mode: "async" });
  expectTypeOf(same).toEqualTypeOf<InvokedCall<{ readonly id: string }>>();
  expect([call.status, same.status]).toEqual(["succeeded", "succeeded"]);
  const end = await client.wait(call);
  if (end.status === "succeeded") expectTypeOf(end.output.id).toEqualTypeOf<string>();
  expectTypeOf(client.stream("clock.now", {})).toEqualTypeOf<AsyncIterable<CallStreamEvent<string>>>();
});

test("the state of a call says whether there is an output", async () => {
  const call = await createClient<Tools>(options).invoke("payments.charge", { amount: 1, currency: "EUR" });
  expectTypeOf(call.output).toEqualTypeOf<{ readonly id: string } | undefined>();
  if (isOpen(call)) {
    expectTypeOf(call).toEqualTypeOf<OpenCall>();
    expectTypeOf(call.output).toEqualTypeOf<undefined>();
  } else if (call.status === "succeeded") {
    expectTypeOf(call).toEqualTypeOf<SucceededCall<{ readonly id: string }>>();
    expectTypeOf(call.outputText).toEqualTypeOf<string>();
    expect(call.output.id).toBe("ch_1");
  } else expectTypeOf(call.status).toEqualTypeOf<"cancelled" | "failed" | "timed_out" | "denied">();
  expect(isOpen(call)).toBe(false);
});

test.each([
  ["queued", true],
  ["dispatched", true],
  ["running", true],
  ["awaiting_approval", true],
  ["indeterminate", true],
  ["denied", false],
  ["succeeded", false],
  ["failed", false],
  ["timed_out", false],
  ["cancelled", false],
] as const)("a call that is %s is open: %s", (status, open) => {
  expect(isOpen({ status } as InvokedCall)).toBe(open);
});

/** Never run: the compiler is the test. Each line below must be refused, or `tsc` says that the directive is unused. */
function mistakes(client: Client<Tools>): void {
  // @ts-expect-error no such tool
  void client.invoke("payments.chrage", { amount: 1, currency: "EUR" });
  // @ts-expect-error a field is missing
  void client.invoke("payments.charge", { amount: 1 });
  // @ts-expect-error a field is of another type
  void client.invoke("payments.charge", { amount: "1", currency: "EUR" });
  // @ts-expect-error a field is unknown
  void client.invoke("payments.charge", { amount: 1, currency: "EUR", note: "x" });
  // @ts-expect-error no input at all
  void client.invoke("payments.charge");
  // @ts-expect-error an option is misspelt
  void client.invoke("payments.charge", { amount: 1, currency: "EUR" }, { waitMs: 5 });
  // @ts-expect-error no such tool
  void client.invoke({ tool: "payments.refund", input: {} });
  // @ts-expect-error the input of another tool
  void client.invoke({ tool: "clock.now", input: { amount: 1, currency: "EUR" } });
  // @ts-expect-error no such tool
  client.stream("payments.chrage", { amount: 1, currency: "EUR" });
  // @ts-expect-error a field is missing
  client.stream({ tool: "payments.charge", input: { amount: 1 } });
  // @ts-expect-error a stream waits by itself
  client.stream("clock.now", {}, { wait_ms: 5 });
  // @ts-expect-error a map of something else
  createClient<{ "a.b": string }>(options);
}

test("without a map any tool goes, and the caller says what it takes and gives", async () => {
  const client = createClient(options);
  expectTypeOf<Parameters<typeof mistakes>>().toEqualTypeOf<[Client<Tools>]>();
  const one = await client.invoke<Charge, { readonly id: string }>("payments.charge", { amount: 1, currency: "EUR" });
  expectTypeOf(one).toEqualTypeOf<InvokedCall<{ readonly id: string }>>();
  const two = await client.invoke<{ readonly id: string }>({ tool: "payments.charge", inputText: "{}" });
  expectTypeOf(two).toEqualTypeOf<InvokedCall<{ readonly id: string }>>();
  const three = await client.invoke("whatever", [1, "two"]);
  expectTypeOf(three.output).toEqualTypeOf<unknown>();
  // @ts-expect-error the input is not what was said
  void client.invoke<Charge, unknown>("payments.charge", { amount: 1 }).catch(() => undefined);
  expect(one.output).toEqual({ id: "ch_1" });
});
