// Counters and histograms through OpenTelemetry, read out as Prometheus text.
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import type { Counter, Histogram } from "@opentelemetry/api";
import { AggregationType, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import type { Meters } from "../../corridor/ports.ts";

/** Pulled by whoever reads `/metrics`; pushes nothing anywhere. */
class PullReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

const secondsBounds = [
  0.0005, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
/** A completion takes from a fraction of a second to minutes. */
const completionBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const descriptions: Readonly<Record<string, string>> = {
  tool_executions_total: "Calls that ended, by tool, version and status",
  tool_duration_seconds: "Time in tool code",
  tool_queue_seconds: "Time from admission to a worker's slot",
  tool_dispatch_seconds: "Time from a parsed request to its Invoke on a worker's stream, ledger commit included",
  sandbox_provision_failures_total: "Calls that a sandbox worker handed back because it could not make their box",
  breaker_transitions_total: "Breakers of tools that opened, and that closed again",
  breaker_refusals_total: "Calls that were refused at the door because their tool's breaker is open",
  routing_outcome_total: "Calls or attempts that met one of the four routing outcomes",
  authorization_denied_total: "Requests refused by credential, scope, grant or policy",
  result_cache_total: "Calls of cacheable tools, by whether an earlier result answered them",
  retention_removed_total: "Calls, deliveries and files that were removed because they are past their retention",
  approval_wait_seconds: "From the opening of an approval to its close, by outcome",
  integrity_violations_total: "Tools that a worker offered and may not run",
  webhook_deliveries_total: "Attempts to deliver to webhooks, by outcome",
  session_turns_total: "Turns of sessions that ended, by the code of their end",
  model_completions_total: "Answers of models, by provider and how they ended",
  model_completion_seconds: "Time from a request to a model to the end of its answer, by provider",
  ledger_commits_total: "Durable commits",
  ledger_commit_seconds: "Time of one durable commit",
  ledger_batch_size: "Units in one durable commit",
};

export function otelMeters(): Meters {
  const reader = new PullReader();
  const provider = new MeterProvider({
    readers: [reader],
    views: [
      {
        instrumentName: "ledger_batch_size",
        aggregation: { type: AggregationType.EXPLICIT_BUCKET_HISTOGRAM, options: { boundaries: sizeBounds } },
      },
    ],
  });
  const meter = provider.getMeter("signalbox");
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const about = (name: string) => ({ description: descriptions[name] ?? name });
  return {
    count(name, labels, by = 1) {
      let counter = counters.get(name);
      if (counter === undefined) counters.set(name, (counter = meter.createCounter(name, about(name))));
      counter.add(by, labels);
    },
    observe(name, value, labels) {
      let histogram = histograms.get(name);
      if (histogram === undefined) {
        const bounds = name === "model_completion_seconds" ? completionBounds : secondsBounds;
        const advice = name.endsWith("_seconds") ? { advice: { explicitBucketBoundaries: bounds } } : {};
        histograms.set(name, (histogram = meter.createHistogram(name, { ...about(name), ...advice })));
      }
      histogram.record(value, labels);
    },
    async text() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(resourceMetrics);
    },
  };
}
