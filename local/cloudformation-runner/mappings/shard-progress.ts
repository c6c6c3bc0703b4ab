export class ShardProgress {
  readonly #open: { sequenceNumber: string; isDone: boolean }[] = [];
  readonly #onProgress: (sequenceNumber: string) => void;
  #below = Number.POSITIVE_INFINITY;
  #onBelow: () => void = () => {};

  constructor(onProgress: (sequenceNumber: string) => void) {
    this.#onProgress = onProgress;
  }

  markStarted(sequenceNumbers: readonly string[]): void {
    for (const sequenceNumber of sequenceNumbers) this.#open.push({ sequenceNumber, isDone: false });
  }

  markDone(sequenceNumbers: readonly string[]): void {
    const done = new Set(sequenceNumbers);
    for (const each of this.#open) if (done.has(each.sequenceNumber)) each.isDone = true;
    let last: string | undefined;
    while (this.#open[0]?.isDone) last = this.#open.shift()?.sequenceNumber;
    if (last !== undefined) this.#onProgress(last);
    if (this.#open.length < this.#below) this.#onBelow();
  }

  hasFewerThan(count: number, signal: AbortSignal): Promise<void> {
    if (this.#open.length < count || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#below = count;
      this.#onBelow = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
