// The tool of the cases on rules and people: a payment that only a well-formed order can start, and that leaves a receipt.
import { ToolError, type ToolContext } from "@signalbox/worker";
import { workerTool } from "./manifests.ts";
import type { Entered } from "./trace.ts";

export interface Order {
  readonly amount: number;
  readonly currency: string;
  readonly payee: string;
}

export interface Receipt extends Entered {
  readonly tool: string;
  readonly order: Order;
}

export const orderSchema = {
  type: "object",
  properties: { amount: { type: "number" }, currency: { type: "string" }, payee: { type: "string" } },
  required: ["amount", "currency", "payee"],
  additionalProperties: false,
} as const;

/** `spec` overrides, e.g. `side_effect_class` (else `non_idempotent_write`). */
export function paymentTool(name: string, version = "1.0.0", spec: Readonly<Record<string, unknown>> = {}) {
  return workerTool(name, version, { side_effect_class: "non_idempotent_write", input: orderSchema, ...spec });
}

/** An order to acme in USD, unless told otherwise. */
export function order(amount: number, more: Partial<Order> = {}): Order {
  return { amount, currency: "USD", payee: "acme", ...more };
}

export interface Till {
  /** Every entry into the handler, also of orders that it declined. */
  readonly entries: readonly Entered[];
  /** What was paid, in order. */
  readonly receipts: readonly Receipt[];
  pay(order: Order, ctx: ToolContext): unknown;
  receiptsOf(callId: string | undefined): readonly Receipt[];
}

export function openTill(): Till {
  const entries: Entered[] = [];
  const receipts: Receipt[] = [];
  return {
    entries,
    receipts,
    pay(given, { callId, invoke: { fence, tool } }) {
      entries.push({ callId, fence });
      if (!(given.amount > 0) || given.currency === "" || given.payee === "")
        throw new ToolError("invalid_args", "a payment needs an amount, a currency and a payee");
      receipts.push({ callId, fence, tool, order: given });
      return { status: "processed", payment_id: `pay-${receipts.length}`, amount: given.amount, payee: given.payee };
    },
    receiptsOf: (callId) => receipts.filter((receipt) => receipt.callId === callId),
  };
}
