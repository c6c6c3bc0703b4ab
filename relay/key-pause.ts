import type { Log } from '../shared/log.ts';
import type { ParleyApi } from './parley-api.ts';
import { growingMs, pause } from './pause.ts';

interface KeyPauseOptions {
  api: ParleyApi;
  log: Log;
  signal: AbortSignal;
  /** The key does not open anything any more, or does again. */
  onKey: (isGood: boolean) => void;
}

/** Nothing is taken until a call is allowed again: a key that is being rotated must cost no message. */
export class KeyPause {
  readonly #options: KeyPauseOptions;
  #isOn = false;

  constructor(options: KeyPauseOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Resolves when it is over. */
  async last(why: string | undefined): Promise<void> {
    const { api, log, signal, onKey } = this.#options;
    this.#isOn = true;
    onKey(false);
    log('error', 'Parley does not accept the key of the relay; nothing is carried until it does', { why });
    for (let attempts = 0; !signal.aborted && this.#isOn; attempts++) {
      await pause(growingMs(attempts), signal);
      const isGood = await api.plan().then(
        () => true,
        () => false,
      );
      if (!isGood) continue;
      this.#isOn = false;
      onKey(true);
      log('info', 'Parley accepts the key of the relay again');
    }
  }
}
