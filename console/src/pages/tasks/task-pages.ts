import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { get, returns } from '../../api/call.ts';
import { type ParleyEvent, subscribe } from '../../api/event-stream.ts';
import { type Problem, toProblem } from '../../api/problem.ts';
import type { BoundedCount, Task } from '../../api/types.ts';
import { patchTask } from '../../model/patch-task.ts';

interface TaskPage {
  tasks: Task[];
  cursor?: string;
  count?: BoundedCount;
}

export type Filter = Record<string, string>;

const PAGE_SIZE = 100;
/** A short page may be followed by more: a call reads a bounded part of the index. */
const MAX_EMPTY_PAGES = 20;
const REFRESH_MS = 1500;

/** The pages of one filter, as far as somebody has looked, kept up to date by events. */
export class TaskPages {
  readonly items: Signal<Task[]> = signal([]);
  readonly count: Signal<BoundedCount | undefined> = signal(undefined);
  readonly problem: Signal<Problem | undefined> = signal(undefined);
  readonly isLoaded = signal(false);
  /** Newer ones that are not shown, so that nothing moves under the pointer. */
  readonly newer: Signal<TaskPage | undefined> = signal(undefined);
  mayMove = true;
  readonly #filter: Filter;
  readonly #abort = new AbortController();
  #cursor: string | undefined;
  #isLoading = false;
  #refreshing: ReturnType<typeof setTimeout> | undefined;

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  async loadFirst(): Promise<void> {
    try {
      const page = await this.#load({ count: 'true' });
      this.#replace(page);
      this.problem.value = undefined;
      this.isLoaded.value = true;
      if (page.tasks.length < PAGE_SIZE / 2) await this.loadMore();
    } catch (error) {
      this.#fail(error);
    }
  }

  async loadMore(): Promise<void> {
    if (this.#isLoading || this.#cursor === undefined) return;
    this.#isLoading = true;
    try {
      for (let tries = 0; tries < MAX_EMPTY_PAGES && this.#cursor !== undefined; tries++) {
        const page: TaskPage = await this.#load({ cursor: this.#cursor });
        this.#cursor = page.cursor;
        this.items.value = [...this.items.value, ...page.tasks];
        if (page.tasks.length > 0) break;
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#isLoading = false;
  }

  onEvents(events: ParleyEvent[]): void {
    const changes = new Map<string, ParleyEvent[]>();
    let hasNew = false;
    for (const event of events) {
      const { taskId } = event.data;
      if (taskId === undefined || !event.type.startsWith('task.')) continue;
      hasNew ||= event.type === 'task.requested' || Object.keys(this.#filter).length > 0;
      changes.set(taskId, [...(changes.get(taskId) ?? []), event]);
    }
    if (changes.size > 0 && this.items.value.some(({ id }) => changes.has(id))) {
      this.items.value = this.items.value.map((task) => (changes.get(task.id) ?? []).reduce(patchTask, task));
    }
    if (hasNew) this.#refreshing ??= setTimeout(() => this.#refresh(), REFRESH_MS);
  }

  showNewer(): void {
    const page = this.newer.value;
    if (!page) return;
    this.newer.value = undefined;
    const known = new Set(this.items.value.map(({ id }) => id));
    const fresh = page.tasks.filter(({ id }) => !known.has(id));
    if (fresh.length === page.tasks.length && page.cursor !== undefined) this.#replace(page);
    else this.items.value = [...fresh, ...this.items.value];
  }

  close(): void {
    this.#abort.abort();
    clearTimeout(this.#refreshing);
  }

  async #refresh(): Promise<void> {
    try {
      const page = await this.#load({ count: 'true' });
      this.count.value = page.count;
      const known = new Set(this.items.value.map(({ id }) => id));
      this.newer.value = page.tasks.some(({ id }) => !known.has(id)) ? page : undefined;
      if (this.mayMove || this.items.value.length === 0) this.showNewer();
    } catch (error) {
      this.#fail(error);
    }
    this.#refreshing = undefined;
  }

  #load(more: Record<string, string>): Promise<TaskPage> {
    return get('v1/tasks', { ...this.#filter, limit: PAGE_SIZE, ...more }, this.#abort.signal);
  }

  #replace({ tasks, cursor, count }: TaskPage): void {
    this.items.value = tasks;
    this.#cursor = cursor;
    if (count) this.count.value = count;
  }

  #fail(error: unknown): void {
    const problem = toProblem(error);
    if (!this.#abort.signal.aborted && problem.code !== 'gone') this.problem.value = problem;
  }
}

export const useTaskPages = (filter: Filter): TaskPages => {
  const id = JSON.stringify(filter);
  const pages = useMemo(() => new TaskPages(filter), [id]);
  useEffect(() => {
    void pages.loadFirst();
    const leave = subscribe((events) => pages.onEvents(events));
    const seen = returns.peek();
    const leaveReturns = returns.subscribe((count) => count !== seen && void pages.loadFirst());
    return () => {
      leave();
      leaveReturns();
      pages.close();
    };
  }, [pages]);
  return pages;
};
