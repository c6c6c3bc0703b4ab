/** What must be stopped, in the opposite order of its start. */
export class Undo {
  readonly #steps: (() => unknown)[] = [];

  later(step: () => unknown): void {
    this.#steps.push(step);
  }

  async all(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step();
  }
}
