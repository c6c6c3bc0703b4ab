/** The network between an agent and Parley, as a test wants it. */
export interface FaultyFetch {
  fetch: typeof globalThis.fetch;
  /** Nothing gets through, and nothing that is under way comes back. */
  disconnect(): void;
  reconnect(): void;
  /** Every call that took effect, as `METHOD path status`. */
  effects: string[];
}

type Cut = 'none' | 'before' | 'after';

const CUT = 'the network is cut';

/** `decide` says for each call whether it is cut before it gets there, or after it took effect. */
export const createFaultyFetch = (decide: (call: string) => Cut = () => 'none'): FaultyFetch => {
  let offline = new AbortController();
  let isOffline = false;
  const effects: string[] = [];
  return {
    effects,
    disconnect: () => {
      isOffline = true;
      offline.abort(new TypeError(CUT));
    },
    reconnect: () => {
      isOffline = false;
      offline = new AbortController();
    },
    fetch: async (url, init = {}) => {
      const call = `${init.method} ${new URL(String(url)).pathname}`;
      const cut = decide(call);
      if (isOffline || cut === 'before') throw new TypeError(CUT);
      const signal = init.signal ? AbortSignal.any([init.signal, offline.signal]) : offline.signal;
      const response = await fetch(url, { ...init, signal });
      effects.push(`${call} ${response.status}`);
      if (cut === 'none') return response;
      await response.body?.cancel();
      throw new TypeError(CUT);
    },
  };
};
