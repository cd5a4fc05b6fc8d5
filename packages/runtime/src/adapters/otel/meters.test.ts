// What `/metrics` shows: names, labels, buckets and values in Prometheus text.
import { expect, test } from "vitest";
import { otelMeters } from "./meters.ts";

const linesOf = (text: string, name: string): string[] => text.split("\n").filter((line) => line.startsWith(name));

test("a counter has its own name, once, with its labels and its sum", async () => {
  const meters = otelMeters();
  meters.count("tool_executions_total", { tool: "pay", version: "1.0.0", status: "succeeded" });
  meters.count("tool_executions_total", { tool: "pay", version: "1.0.0", status: "succeeded" }, 2);
  meters.count("tool_executions_total", { tool: "pay", version: "1.0.0", status: "failed" });
  const text = await meters.text();
  expect(text).toContain("# HELP tool_executions_total Calls that ended, by tool, version and status\n# TYPE tool_executions_total counter\n");
  expect(linesOf(text, "tool_executions_total")).toEqual([
    'tool_executions_total{tool="pay",version="1.0.0",status="succeeded"} 3',
    'tool_executions_total{tool="pay",version="1.0.0",status="failed"} 1',
  ]);
});

test("a counter without labels, and label values that need quoting", async () => {
  const meters = otelMeters();
  meters.count("ledger_commits_total");
  meters.count("routing_outcome_total", { outcome: 'no"handler\\\n' });
  const text = await meters.text();
  expect(linesOf(text, "ledger_commits_total")).toEqual(["ledger_commits_total 1"]);
  expect(linesOf(text, "routing_outcome_total")).toEqual([String.raw`routing_outcome_total{outcome="no\"handler\\\n"} 1`]);
});

test("seconds stand in buckets from half a millisecond to half a minute", async () => {
  const meters = otelMeters();
  for (const seconds of [0.0004, 0.004, 31]) meters.observe("tool_dispatch_seconds", seconds);
  const lines = linesOf(await meters.text(), "tool_dispatch_seconds");
  expect(lines).toContain('tool_dispatch_seconds_bucket{le="0.0005"} 1');
  expect(lines).toContain('tool_dispatch_seconds_bucket{le="0.003"} 1');
  expect(lines).toContain('tool_dispatch_seconds_bucket{le="0.004"} 2');
  expect(lines).toContain('tool_dispatch_seconds_bucket{le="30"} 2');
  expect(lines).toContain('tool_dispatch_seconds_bucket{le="+Inf"} 3');
  expect(lines).toContain("tool_dispatch_seconds_count 3");
  expect(lines.filter((line) => line.includes("_bucket"))).toHaveLength(23);
});

test("completions of models stand in buckets up to ten minutes, and are described", async () => {
  const meters = otelMeters();
  meters.observe("model_completion_seconds", 45, { provider: "scripted" });
  meters.count("model_completions_total", { provider: "scripted", outcome: "end_turn" });
  meters.count("session_turns_total", { end: "end_turn" });
  const text = await meters.text();
  const lines = linesOf(text, "model_completion_seconds_bucket");
  expect(lines).toContain('model_completion_seconds_bucket{provider="scripted",le="30"} 0');
  expect(lines).toContain('model_completion_seconds_bucket{provider="scripted",le="60"} 1');
  expect(lines).toContain('model_completion_seconds_bucket{provider="scripted",le="600"} 1');
  expect(text).toContain("# HELP session_turns_total Turns of sessions that ended, by the code of their end\n");
  expect(text).toContain("# HELP model_completions_total Answers of models, by provider and how they ended\n");
});

test("batch sizes stand in powers of two", async () => {
  const meters = otelMeters();
  meters.observe("ledger_batch_size", 3);
  const lines = linesOf(await meters.text(), "ledger_batch_size_bucket");
  expect(lines.map((line) => /le="([^"]+)"/.exec(line)?.[1])).toEqual(["1", "2", "4", "8", "16", "32", "64", "128", "256", "+Inf"]);
  expect(lines[1]).toMatch(/ 0$/);
  expect(lines[2]).toMatch(/ 1$/);
});

test("labels of a histogram stand beside its buckets", async () => {
  const meters = otelMeters();
  meters.observe("tool_duration_seconds", 0.02, { tool: "pay" });
  expect(linesOf(await meters.text(), "tool_duration_seconds")).toContain('tool_duration_seconds_count{tool="pay"} 1');
});

test("reading twice gives the same sums: nothing is taken away by it", async () => {
  const meters = otelMeters();
  meters.count("ledger_commits_total");
  await meters.text();
  expect(linesOf(await meters.text(), "ledger_commits_total")).toEqual(["ledger_commits_total 1"]);
});

test("every name that the runtime uses has words for people", async () => {
  const meters = otelMeters();
  const counters = ["tool_executions_total", "routing_outcome_total", "authorization_denied_total", "ledger_commits_total"];
  const histograms = ["tool_duration_seconds", "tool_queue_seconds", "tool_dispatch_seconds", "ledger_commit_seconds", "ledger_batch_size"];
  for (const name of counters) meters.count(name);
  for (const name of histograms) meters.observe(name, 1);
  const text = await meters.text();
  for (const name of [...counters, ...histograms]) expect(text).toMatch(new RegExp(`# HELP ${name} [A-Z][a-z]+ .+\n`));
});
