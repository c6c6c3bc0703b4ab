import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { returns } from '../api/call.ts';
import { type ParleyEvent, subscribe } from '../api/event-stream.ts';
import { type Problem, toProblem } from '../api/problem.ts';

export interface Resource<T> {
  /** What was loaded last stays while it is loaded again, so that nothing jumps. */
  data: Signal<T | undefined>;
  problem: Signal<Problem | undefined>;
  reload: () => void;
}

interface Options<T> {
  /** Which events make it old. */
  when?: (event: ParleyEvent, data: T | undefined) => boolean;
  everyMs?: number;
  /** The least time between two loads. */
  restMs?: number;
}

/** Loads what a page shows, and again when events say so or the server is back. A new `id` starts anew. */
export const useResource = <T>(
  id: string,
  load: (abort: AbortSignal) => Promise<T>,
  { when, everyMs, restMs = 1000 }: Options<T> = {},
): Resource<T> => {
  const state = useMemo(() => {
    const data = signal<T | undefined>(undefined);
    const problem = signal<Problem | undefined>(undefined);
    const abort = new AbortController();
    let [isLoading, isOld, lastAt] = [false, false, 0];
    let _timer: ReturnType<typeof setTimeout> | undefined;
    const run = async (): Promise<void> => {
      _timer = undefined;
      [isLoading, isOld, lastAt] = [true, false, Date.now()];
      try {
        const loaded = await load(abort.signal);
        if (!abort.signal.aborted) [data.value, problem.value] = [loaded, undefined];
      } catch (error) {
        const found = toProblem(error);
        if (!abort.signal.aborted && found.code !== 'gone') problem.value = found;
      }
      isLoading = false;
      if (isOld) schedule();
    };
    const schedule = (): void => {
      if (abort.signal.aborted) return;
      if (isLoading || document.visibilityState === 'hidden') {
        isOld = true;
        return;
      }
      _timer ??= setTimeout(run, Math.max(0, lastAt + restMs - Date.now()));
    };
    const onVisible = (): void => {
      if (isOld && document.visibilityState === 'visible') schedule();
    };
    return { data, problem, abort, run, schedule, onVisible, reload: schedule };
  }, [id]);
  useEffect(() => {
    void state.run();
    const leave =
      when && subscribe((events) => events.some((event) => when(event, state.data.peek())) && state.schedule());
    const timer = everyMs === undefined ? undefined : setInterval(state.schedule, everyMs);
    const seen = returns.peek();
    const leaveReturns = returns.subscribe((count) => count !== seen && state.schedule());
    document.addEventListener('visibilitychange', state.onVisible);
    return () => {
      state.abort.abort();
      leave?.();
      leaveReturns();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', state.onVisible);
    };
  }, [state]);
  return state;
};
