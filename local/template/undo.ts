/** What must be stopped, in the opposite order of its start. */
export class Undo {
  readonly #steps: (() => unknown)[][] = [];

  /** `with the next`: beside the step before it, so that neither waits for the other. */
  later(step: () => unknown, order: 'before all so far' | 'with the next' = 'before all so far'): void {
    const last = this.#steps.at(-1);
    if (order === 'with the next' && last) last.push(step);
    else this.#steps.push([step]);
  }

  async all(): Promise<void> {
    for (let steps = this.#steps.pop(); steps; steps = this.#steps.pop())
      await Promise.all(steps.map((step) => step()));
  }
}
