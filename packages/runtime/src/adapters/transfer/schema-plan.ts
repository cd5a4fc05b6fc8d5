// What is left to do to bring a ledger's tables up.

export interface SchemaStep {
  readonly version: number;
  readonly statements: readonly string[];
}

export interface SchemaPlan {
  /** 0: the ledger has no tables yet. */
  readonly schema: number;
  /** What this Signalbox brings it to. */
  readonly newest: number;
  readonly steps: readonly SchemaStep[];
}

/** What is left to do of a list of migrations. */
export function planFrom(schema: number, list: readonly SchemaStep[]): SchemaPlan {
  const steps = list.filter(({ version }) => version > schema).map(({ version, statements }) => ({ version, statements }));
  return { schema, newest: list.at(-1)?.version ?? 0, steps };
}
