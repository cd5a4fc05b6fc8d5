// One at a time for each name: work on the same thing waits for the work before it.

export class Locks {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` when everything that was asked for under this name has ended, well or badly. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
