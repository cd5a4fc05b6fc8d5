// Bounds that hold for every document, whatever its kind; a kind's own bounds stand in its room.

export const documentBounds = {
  /** Problems reported for one document; the rest is counted, not listed. */
  problemsMax: 100,
  listItemsMax: 256,
  mapEntriesMax: 256,
  versionCharsMax: 128,
  nearNamesMax: 3,
  nearNamesLookedAtMax: 2_000,
} as const;
