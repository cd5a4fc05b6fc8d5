// The bounds of what is configured for models, and of what is taken from them; units in the names.

export const modelBounds = {
  modelNameCharsMax: 256,
  toolNameCharsMax: 64,

  scriptedTextCharsMax: 65_536,
  scriptedItemsMax: 1_000,
  scriptedDelayMsMax: 3_600_000,
  scriptedTokensMax: 1_000_000_000,
  whenCharsMax: 1_024,

  providersMax: 64,
  providerNameCharsMax: 64,
  urlCharsMax: 2_048,
  pathCharsMax: 4_096,
  headersMax: 32,
  headerValueCharsMax: 4_096,
  secretCharsMax: 4_096,
  extraBodyValuesMax: 1_000,
  extraBodyDepthMax: 16,

  /** Until a provider begins to answer. */
  timeoutMs: 120_000,
  timeoutMsMax: 3_600_000,
  /** Between two pieces of an answer: some models think for minutes and say nothing meanwhile. */
  idleTimeoutMs: 300_000,
  idleTimeoutMsMax: 3_600_000,
  maxRetries: 2,
  maxRetriesMax: 10,
  /** A provider that asks for more time than this is not waited for: the turn is told when to ask again. */
  retryWaitMsMax: 30_000,
  retryAfterMsMax: 86_400_000,

  /** Of one answer, as it comes over the wire. */
  answerBytesMax: 64 * 1_024 * 1_024,
  blocksMax: 1_024,
  providerIdCharsMax: 1_024,
} as const;
