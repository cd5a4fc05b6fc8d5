// How the tests run: on the sources of all packages (never on dist), two files at a time.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^@signalbox\/protocol\/v1\/(\w+)$/, replacement: `${here("./packages")}/protocol/src/gen/signalbox/v1/$1_pb.ts` },
      { find: /^@signalbox\/(client|protocol|runtime|worker)$/, replacement: `${here("./packages")}/$1/src/index.ts` },
    ],
  },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    allowOnly: false,
    reporters: ["default", here("./test/reporter.ts")],
    coverage: { provider: "v8", include: ["packages/*/src/**/*.ts"], exclude: ["**/*.test.ts", "**/gen/**"] },
  },
});
