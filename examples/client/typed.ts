// Runs tools whose types the compiler knows, waits for what takes long, and reads a list: node examples/client/typed.ts
import { createClient, isOpen, SignalboxApiError } from "@signalbox/client";

const { SIGNALBOX_URL: url = "http://127.0.0.1:8080", SIGNALBOX_KEY: key = "" } = process.env;

// #region typed
interface Tools {
  echo: { input: { message: string }; output: { message: string } };
  "report.build": { input: { month: string }; output: { rows: number } };
}
const client = createClient<Tools>({ url, key });

const call = await client.invoke("echo", { message: "hi" });
if (call.status === "succeeded") console.log(call.output.message);
// #endregion typed

// #region wait
const report = await client.invoke("report.build", { month: "2026-10" }, { wait_ms: 1 });
if (isOpen(report)) console.log("it goes on"); // its status says whether people are asked
const end = await client.wait(report, { timeoutMs: 60_000 });
if (end.status === "succeeded") console.log(end.output.rows);
// #endregion wait

// #region errors
try {
  await client.invoke("report.build", { month: "October" });
} catch (error) {
  if (!(error instanceof SignalboxApiError)) throw error;
  console.log(error.code, error.httpStatus, error.retryable);
}
// #endregion errors

// #region lists
for await (const { tool, status } of client.list({ status: "succeeded" })) console.log(tool, status);
// #endregion lists
