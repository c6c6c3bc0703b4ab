import type { Deps } from '../identity/deps.ts';
import { isTask } from '../model/task.ts';
import type { RecordChange } from '../ports/records.ts';
import { rollUpStatistics } from './roll-up.ts';

const CHANGES_PER_ROLL_UP = 1000;

/** For one process that dispatches all changes: it counts events behind them, one project at a time. */
export class RollUpLoop {
  readonly #deps: Deps;
  readonly #dispatched = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  onDispatched(changes: readonly RecordChange[]): void {
    for (const { after } of changes) {
      if (!after || !isTask(after)) continue;
      const count = (this.#dispatched.get(after.project) ?? 0) + 1;
      this.#dispatched.set(after.project, count % CHANGES_PER_ROLL_UP);
      if (count === CHANGES_PER_ROLL_UP) this.#start(after.project);
    }
  }

  #start(project: string): void {
    this.#running = this.#running.then(async () => {
      if (this.#isStopped) return;
      try {
        await rollUpStatistics(this.#deps, project);
      } catch (error) {
        if (!this.#isStopped) this.#deps.log('warn', 'statistics not rolled up', { project, error: String(error) });
      }
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }
}
