// Stands in for pieces of the ledger that are still to come: whoever asks for one is told so.

export function unwritten<T extends object>(piece: string): T {
  return new Proxy({} as T, {
    get: (_, name) => () => Promise.reject(new Error(`${piece}: ${String(name)} is not there yet`)),
    ownKeys: () => [],
  });
}
