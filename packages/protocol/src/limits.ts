// The default limits, in one place; each name carries its unit and its bound.

const KiB = 1024;
const MiB = 1024 * KiB;

export const limits = {
  bodyBytesMax: MiB,
  inputBytesMax: MiB,
  resultBytesMax: MiB,
  outputStreamBytesMax: MiB,
  jsonDepthMax: 64,
  schemaBytesMax: 64 * KiB,
  schemaDepthMax: 32,
  manifestBytesMax: 256 * KiB,
  /** Results over this stand in the blob table, the call row keeps a reference. */
  inlineResultBytesMax: 256 * KiB,
  workMessageBytesMax: 64 * MiB,
  errorMessageCharsMax: 2_000,
  errorDetailsBytesMax: 16 * KiB,
  idempotencyKeyCharsMax: 255,
  nameCharsMax: 128,
  contextBytesMax: 16 * KiB,
  /** What a call's box is made of and held to: limits, environment, packages. */
  boxBytesMax: 64 * KiB,
  queueDepthPerTenantMax: 1_000,
  listItemsDefault: 25,
  listItemsMax: 100,
  handlersPerWorkerMax: 1_000,
  workerCapacityMax: 10_000,
  workersPerTenantMax: 1_000,

  /** What one message of the Work protocol may hold beside its payload. */
  labelsPerWorkerMax: 64,
  backendsPerWorkerMax: 32,
  inFlightPerWorkerMax: 20_000,
  filesPerCallMax: 1_000,
  pathCharsMax: 1_024,
  secretNamesPerCallMax: 64,
  secretValueBytesMax: 64 * KiB,
  eventPayloadBytesMax: 256 * KiB,
  /** What one call may emit in all, however often it is tried: what comes after is dropped. */
  eventsPerCallMax: 100,
  eventBytesPerCallMax: MiB,
  outputChunkBytesMax: 64 * KiB,

  syncWaitMs: 30_000,
  syncWaitMsMax: 300_000,
  /** Calls of unknown end that one request resolves. */
  resolveManyMax: 500,
  /** What a call of unknown end said last, as it is shown beside others. */
  lastOutputLinesMax: 10,
  lastOutputBytesMax: 2 * KiB,
  queueWaitMs: 30_000,
  startDeadlineMs: 10_000,
  runTimeoutMs: 30_000,
  runTimeoutMsMax: 24 * 3_600_000,
  graceMs: 5_000,
  heartbeatMs: 5_000,
  workerSilentMs: 10_000,
  leaseMs: 15_000,
  drainMs: 30_000,
  lazyWriteMs: 100,
  /** How long an ended call is kept, and with it its idempotency key. */
  retentionMs: 7 * 24 * 3_600_000,

  /** Attempts of a safe call whose lease ran out, in all. */
  lostAttemptsMax: 3,
  /** Leases of one call that never reached code, in all; guards against a worker that never accepts. */
  placementsMax: 10,
  /** A held call must be missing from this many heartbeats in a row before it counts as lost. */
  heartbeatsMissedMax: 2,
} as const;

export type Limits = typeof limits;
