import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { get } from '../api/call.ts';
import { type ParleyEvent, subscribe } from '../api/event-stream.ts';
import { type Problem, toProblem } from '../api/problem.ts';
import type { BoundedCount } from '../api/types.ts';

type Query = Record<string, string | number | undefined>;

interface Answer {
  cursor?: string;
  count?: BoundedCount;
  [items: string]: unknown;
}

export interface Paged<T> {
  data: Signal<T[] | undefined>;
  count: Signal<BoundedCount | undefined>;
  hasMore: Signal<boolean>;
  problem: Signal<Problem | undefined>;
  loadMore: () => Promise<void>;
  reload: () => void;
}

const PAGE_SIZE = 50;
const REST_MS = 1500;

/** A list that is short enough for a table, with more at the press of a button. */
export const usePaged = <T>(
  path: string,
  name: string,
  query: Query,
  when?: (event: ParleyEvent) => boolean,
): Paged<T> => {
  const id = JSON.stringify([path, query]);
  const state = useMemo(() => {
    const data = signal<T[] | undefined>(undefined);
    const count = signal<BoundedCount | undefined>(undefined);
    const hasMore = signal(false);
    const problem = signal<Problem | undefined>(undefined);
    let [cursor, size]: [string | undefined, number] = [undefined, PAGE_SIZE];
    const abort = new AbortController();
    const load = async (after: string | undefined, limit: number): Promise<T[]> => {
      const page = await get<Answer>(path, { ...query, limit, cursor: after }, abort.signal);
      cursor = page.cursor;
      hasMore.value = cursor !== undefined;
      if (page.count) count.value = page.count;
      return page[name] as T[];
    };
    const guard = async (run: () => Promise<void>): Promise<void> => {
      try {
        await run();
        problem.value = undefined;
      } catch (error) {
        const found = toProblem(error);
        if (!abort.signal.aborted && found.code !== 'gone') problem.value = found;
      }
    };
    const reload = (): Promise<void> =>
      guard(async () => {
        data.value = await load(undefined, Math.min(100, size));
      });
    const loadMore = (): Promise<void> =>
      guard(async () => {
        const more = await load(cursor, PAGE_SIZE);
        data.value = [...(data.value ?? []), ...more];
        size = data.value.length;
      });
    return { data, count, hasMore, problem, loadMore, reload: () => void reload(), abort };
  }, [id]);
  useEffect(() => {
    state.reload();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = subscribe((events) => {
      // Whoever has read on is not sent back to the beginning.
      if (!when || !events.some(when) || (state.data.peek()?.length ?? 0) > 100) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        state.reload();
      }, REST_MS);
    });
    return () => {
      leave();
      clearTimeout(timer);
      state.abort.abort();
    };
  }, [state]);
  return state;
};
