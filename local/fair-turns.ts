/** At 50 to 300 µs each, other events wait for about 30 ms at most. */
const MAX_PER_TURN = 128;

/**
 * Begins so many requests in one turn of the event loop. Those beyond wait for the next turns, which take one of each caller in
 * turn: a flood of one caller delays the others by a turn.
 */
export class FairTurns {
  /** Since the last turn that was full, so that a server with less to do needs no timer. */
  #begun = 0;
  #isScheduled = false;
  readonly #waiting = new Map<string, (() => void)[]>();

  begin(caller: string, act: () => void): void {
    if (this.#waiting.size === 0 && this.#begun < MAX_PER_TURN) {
      this.#begun += 1;
      act();
      return;
    }
    const others = this.#waiting.get(caller);
    if (others) others.push(act);
    else this.#waiting.set(caller, [act]);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#takeTurn);
  }

  readonly #takeTurn = (): void => {
    this.#isScheduled = false;
    this.#begun = 0;
    // A caller that is set again comes to the end of the map, and of this loop.
    for (const [caller, acts] of this.#waiting) {
      if (this.#begun === MAX_PER_TURN) break;
      this.#begun += 1;
      this.#waiting.delete(caller);
      const act = acts.shift();
      if (acts.length > 0) this.#waiting.set(caller, acts);
      act?.();
    }
    if (this.#waiting.size > 0) this.#schedule();
  };
}
