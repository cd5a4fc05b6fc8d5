// The bounds on what a manifest of an agent may ask for; what it may leave out has its default here too.

export const agentBounds = {
  toolsPerAgentMax: 128,
  aliasCharsMax: 64,
  /** JSON of all schemas in the bindings of one agent. */
  bindingSchemasBytesMax: 128 * 1_024,
  modelNameCharsMax: 256,
  instructionsBytesMax: 128 * 1_024,
  labelsMax: 64,
  secretsMax: 64,

  outputTokens: 4_096,
  outputTokensMax: 1_000_000,
  temperatureMax: 2,

  steps: 20,
  stepsMax: 1_000,
  tokens: 200_000,
  tokensMax: 1_000_000_000,
  wallClockMs: 600_000,
  wallClockMsMin: 1_000,
  wallClockMsMax: 24 * 3_600_000,
  toolCalls: 50,
  toolCallsMax: 10_000,
  approvalWaitMs: 24 * 3_600_000,
  approvalWaitMsMin: 1_000,
  approvalWaitMsMax: 30 * 24 * 3_600_000,
  concurrentCalls: 8,
  concurrentCallsMax: 256,

  /** Agents that run one another, the outermost counted. */
  depthMax: 8,
  /** Agents that one publication looks at on its way down. */
  agentsLookedAtMax: 256,
  /** Versions that one agent may have. */
  versionsMax: 1_000,
  /** Differences that are told of two versions; the rest is counted. */
  differencesMax: 500,
  commentCharsMax: 500,
} as const;
