// Reading counters and histograms from a page of metrics written by hand.
import { expect, test } from "vitest";
import {
  bucketsCount,
  bucketsSince,
  bucketsTotal,
  counterSum,
  histogramBuckets,
  quantileUpperBound,
} from "./prometheus.ts";

const page = `# HELP ledger_commits_total Durable commits.
# TYPE ledger_commits_total counter
ledger_commits_total 40
ledger_commits_total_created 1700000000
tool_executions_total{tool="a,le=b",status="succeeded"} 7
tool_executions_total{tool="c",status="failed"} 2
tool_dispatch_seconds_bucket{pool="x",le="0.001"} 10
tool_dispatch_seconds_bucket{pool="x",le="0.005"} 18
tool_dispatch_seconds_bucket{pool="x",le="+Inf"} 20
tool_dispatch_seconds_bucket{pool="y",le="0.001"} 1
tool_dispatch_seconds_bucket{pool="y",le="0.005"} 1
tool_dispatch_seconds_bucket{pool="y",le="+Inf"} 1
tool_dispatch_seconds_sum{pool="x"} 0.5
`;

test("a counter is summed over its labels and not mixed up with longer names", () => {
  expect(counterSum(page, "ledger_commits_total")).toBe(40);
  expect(counterSum(page, "tool_executions_total")).toBe(9);
  expect(counterSum(page, "nothing_total")).toBeUndefined();
});

test("a histogram's buckets are added up over its labels", () => {
  expect(histogramBuckets(page, "tool_dispatch_seconds")).toEqual([
    { le: 0.001, count: 11 },
    { le: 0.005, count: 19 },
    { le: Infinity, count: 21 },
  ]);
  expect(histogramBuckets(page, "nothing_seconds")).toEqual([]);
});

test("a quantile is the upper bound of its bucket, in what came between two readings", () => {
  const before = [
    { le: 1, count: 100 },
    { le: 2, count: 100 },
    { le: Infinity, count: 100 },
  ];
  const after = [
    { le: 1, count: 190 },
    { le: 2, count: 199 },
    { le: Infinity, count: 200 },
  ];
  const between = bucketsSince(before, after);
  expect(bucketsCount(between)).toBe(100);
  expect(quantileUpperBound(between, 0.9)).toBe(1);
  expect(quantileUpperBound(between, 0.95)).toBe(2);
  expect(quantileUpperBound(between, 1)).toBe(Infinity);
  expect(quantileUpperBound([], 0.95)).toBeUndefined();
});

test("readings of several slices are one histogram", () => {
  const one = [
    { le: 1, count: 1 },
    { le: Infinity, count: 2 },
  ];
  const two = [
    { le: 1, count: 3 },
    { le: Infinity, count: 3 },
  ];
  expect(bucketsTotal([one, two])).toEqual([
    { le: 1, count: 4 },
    { le: Infinity, count: 5 },
  ]);
});
