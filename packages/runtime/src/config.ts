// What can be set, parsed once; the defaults are the protocol's limits.
import { limits } from "@signalbox/protocol";
import type { HubLimits } from "./dispatch/types.ts";

/** Added to a call's grace before an unconfirmed stop is given up: a message each way, and the kill. */
const stopMarginMs = 1_000;

export const hubLimits: HubLimits = Object.freeze({
  queueWaitMs: limits.queueWaitMs,
  startDeadlineMs: limits.startDeadlineMs,
  leaseMs: limits.leaseMs,
  stopMarginMs,
  lostAttemptsMax: limits.lostAttemptsMax,
  placementsMax: limits.placementsMax,
  workerSilentMs: limits.workerSilentMs,
  heartbeatMs: limits.heartbeatMs,
  heartbeatsMissedMax: limits.heartbeatsMissedMax,
  lazyWriteMs: limits.lazyWriteMs,
  queueDepthPerTenantMax: limits.queueDepthPerTenantMax,
  workerCapacityMax: limits.workerCapacityMax,
  handlersPerWorkerMax: limits.handlersPerWorkerMax,
  workersPerTenantMax: limits.workersPerTenantMax,
});
