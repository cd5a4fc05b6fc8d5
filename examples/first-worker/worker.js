// Charges payments: serves payments.charge, whose manifest stands in examples/tools/payments.charge.
import { Worker, ToolError } from "@signalbox/worker";
import { openBank } from "./bank.js";

const { SIGNALBOX_KEY: key, SIGNALBOX_WORKER_ADDRESS: address = "127.0.0.1:9090", BANK_DELAY_MS = "0" } = process.env;
const bank = openBank(Number(BANK_DELAY_MS));

// #region worker
const worker = new Worker({ address, key, workerId: "payments-1" });
worker.tool("payments.charge", { version: "1.0.0", sideEffectClass: "non_idempotent_write" }, async (args, ctx) => {
  if (args.amount <= 0) throw new ToolError("invalid_args", "the amount must be above zero");
  return bank.charge(args, { idempotencyKey: ctx.idempotencyKey });
});
await worker.run(); // reconnects, renews its leases, drains on SIGTERM
// #endregion worker
