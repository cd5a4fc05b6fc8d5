// What came with limits and usage: who may ask how much, and what was used.

export const meteringStatements: readonly string[] = [];
