// A reporter that ends the run with one line for people and programs: `N passed, N failed[, N skipped]`.
import type { Reporter, TestModule } from "vitest/node";

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export function lineOf({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** A file that failed without a failed test in it (it did not load, a hook threw) counts as one failure. */
export function countModule(module: Pick<TestModule, "children" | "state">): Counts {
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") counts.passed += 1;
    else if (state === "failed") counts.failed += 1;
    else counts.skipped += 1;
  }
  if (module.state() === "failed" && counts.failed === 0) counts.failed = 1;
  return counts;
}

// vitest loads a reporter by its default export.
export default class SumLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const sum: Counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const counts of modules.map(countModule)) {
      sum.passed += counts.passed;
      sum.failed += counts.failed;
      sum.skipped += counts.skipped;
    }
    process.stdout.write(`\n${lineOf(sum)}\n`);
  }
}
