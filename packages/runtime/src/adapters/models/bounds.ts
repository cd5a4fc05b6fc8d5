// The bounds of what is configured for models, and of what is taken from them; units in the names.

export const modelBounds = {
  modelNameCharsMax: 256,
  toolNameCharsMax: 64,
  scriptedTextCharsMax: 65_536,
  scriptedItemsMax: 1_000,
  scriptedDelayMsMax: 3_600_000,
  scriptedTokensMax: 1_000_000_000,
  whenCharsMax: 1_024,
  retryAfterMsMax: 86_400_000,
} as const;
