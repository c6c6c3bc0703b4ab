/** Stops in the reverse order of the start. */
export class Disposer {
  readonly #steps: (() => unknown)[] = [];

  defer(step: () => unknown): void {
    this.#steps.push(step);
  }

  async disposeAll(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) await step();
  }
}
