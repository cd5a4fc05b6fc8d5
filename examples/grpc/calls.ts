// Runs tools over gRPC: one call, one that is refused, one that is followed, and many on one stream: node examples/grpc/calls.ts
import type { ServiceError } from "@grpc/grpc-js";
import { ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";
import { Caller, detailOf } from "./caller.ts";

const { SIGNALBOX_GRPC: address = "127.0.0.1:9090", SIGNALBOX_KEY: key = "" } = process.env;
const caller = new Caller(address, key);

// #region json
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
// #endregion json

// #region invoke
const { invoke, getExecution } = ToolRuntime.method;
const call = await caller.ask(invoke, { tool: "echo", input: Buffer.from('{"id":9007199254740993}') });
console.log(call.status, text(call.output));

const record = await caller.ask(getExecution, { executionId: call.executionId });
console.log(record.attempts.length, record.execution?.worker === call.execution?.worker);
// #endregion invoke

// #region errors
try {
  await caller.ask(invoke, { tool: "report.build", input: json({ month: "October" }) });
} catch (error) {
  const { code, message, retryable, details } = detailOf(error as ServiceError) ?? {};
  console.log((error as ServiceError).code, code, retryable, message);
  console.log(JSON.parse(text(details)).errors[0].pointer);
}
// #endregion errors

// #region stream
for await (const { seq, type, data } of caller.follow(ToolRuntime.method.invokeStream, {
  tool: "report.build",
  input: json({ month: "2026-10" }),
}))
  if (type === "stdout" || type === "done") console.log(seq, type, JSON.parse(text(data)).text ?? "");
// #endregion stream

// #region many
const requests = ["a", "b", "c"].map((ref) => ({ ref, request: { tool: "echo", input: json({ ref }) } }));
const refused = { ref: "d", request: { tool: "no.such.tool", input: json({}) } };
const answers: string[] = [];
for await (const { ref, outcome } of caller.many(ToolRuntime.method.invokeMany, [...requests, refused]))
  answers.push(`${ref}: ${outcome.case === "execution" ? text(outcome.value.output) : outcome.value?.code}`);
console.log(answers.toSorted().join("\n"));
// #endregion many

caller.close();
