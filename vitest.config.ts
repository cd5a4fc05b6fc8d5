// How the tests run: on the sources of all packages (never on dist), two files at a time.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Cases of the API, which go through every door: once in the run of all tests, over REST, and once over gRPC. */
const bothDoors = [
  "api",
  "approvals",
  "audit-events",
  "bad-input",
  "brakes",
  "cancel-timeout",
  "fs-tools",
  "governed-registry",
  "idempotency",
  "integrity",
  "policies",
  "registry",
  "reports-approvals",
  "reports-audit",
  "result-cache",
  "retention",
  "tenants",
  "triggers",
  "webhooks",
];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^@signalbox\/protocol\/v1\/(\w+)$/,
        replacement: `${here("./packages")}/protocol/src/gen/signalbox/v1/$1_pb.ts`,
      },
      { find: /^@signalbox\/(client|protocol|runtime|worker)$/, replacement: `${here("./packages")}/$1/src/index.ts` },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts", "examples/**/*.test.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "grpc",
          include: bothDoors.map((name) => `test/e2e/${name}.test.ts`),
          env: { SIGNALBOX_TEST_DOOR: "gRPC" },
        },
      },
    ],
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
