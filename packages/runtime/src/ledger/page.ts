// One page of a list that the ledger gives out.

export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; undefined on the last page. */
  readonly next: string | undefined;
}
