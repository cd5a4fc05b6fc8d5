// The registry's own bounds on what a manifest or a schema may ask for; the shared limits stand in @signalbox/protocol.

export const bounds = {
  /** JSON values in one manifest; guards against wide documents that stay under the byte limit. */
  manifestValuesMax: 20_000,
  manifestDepthMax: 48,
  yamlAliasesMax: 20,
  /** Lexical parts of one YAML text; a manifest at the byte limit has about half as many. */
  yamlTokensMax: 100_000,

  ownerCharsMax: 128,
  categoryCharsMax: 128,
  descriptionCharsMax: 4_000,
  labelsMax: 64,
  labelCharsMax: 256,
  textCharsMax: 1_024,
  pathCharsMax: 1_024,
  envValueCharsMax: 8_192,
  hostCharsMax: 253,
  /** Kept free, beside `env` and `events`, of what a worker is told of a box: limits, digest, and an entry of the longest path. */
  boxRestBytes: 8_192,

  graceMsMax: 60_000,
  /** How long a tool runs that is an agent, unless its manifest says: people may have to be waited for. */
  agentTimeoutMs: 3_600_000,
  retryAttemptsMax: 10,
  retryDelayMsMax: 3_600_000,
  retryInitialMs: 2_000,
  retryDelayMs: 120_000,
  retryFactor: 2,
  retryFactorMax: 10,
  breakerFailuresMax: 1_000,
  breakerFailures: 5,
  breakerCoolDownMsMin: 100,
  breakerCoolDownMsMax: 3_600_000,
  breakerCoolDownMs: 30_000,
  cacheTtlMsMax: 30 * 24 * 3_600_000,
  backendRankMax: 100,

  /** Subschemas of one schema; ajv compiles this many in about a quarter of a second. */
  schemaNodesMax: 2_000,
  schemaValuesMax: 20_000,
  /** Entries of one anyOf, oneOf or allOf. */
  schemaBranchesMax: 100,
  /** Entries of all anyOf, oneOf and allOf of one schema. */
  schemaBranchesTotalMax: 500,
  schemaEnumItemsMax: 1_000,
  schemaPatternsMax: 100,
  patternCharsMax: 1_024,
  /** Instructions of one compiled pattern; `.{1,1000}` is about 2 000 of them. */
  patternProgramMax: 3_000,
  /** `$ref`s that follow one another at one place of the value; each is a frame on the stack. */
  schemaRefChainMax: 16,
  /** Longer text never has a format: the format checks of ajv-formats are not all linear. */
  formatCharsMax: 4_096,

  /** Errors handed back for one value. */
  schemaErrorsMax: 10,
  /** A validation stops collecting after this many errors. */
  schemaErrorsSeenMax: 32,
  /** Errors of refused branches that may pile up inside one anyOf or contains; guards the heap. */
  schemaErrorsHeldMax: 100_000,
  /** Work units that any validation may cost, about 30 ms; one unit is 0.1 to 0.2 µs. */
  validationUnitsBase: 250_000,
  /** Further units per JSON value and per character of the value that is validated. */
  validationUnitsPerValue: 8,
  validationUnitsPerChar: 4,
  /** Characters × instructions of a pattern that make one work unit. */
  patternStepsPerUnit: 20,
  errorTextCharsMax: 300,

  compiledSchemasMax: 1_000,

  /** Names of tools, and whole versions, kept in memory; what is not kept costs a read of the ledger. */
  rememberedToolsMax: 20_000,
  rememberedVersionsMax: 10_000,
  /** Entries of all lists of versions kept, some 200 bytes each. */
  listedVersionsMax: 200_000,
  /** Wishes whose choice is kept with one list of versions. */
  rememberedPicksMax: 100,
  /** Tenants whose pins and disabled tools are kept. */
  rememberedTenantsMax: 10_000,
} as const;
