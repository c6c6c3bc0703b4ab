import type { Records } from '../shared/ports/records.ts';

export class Calls {
  #counts = new Map<string, number>();

  counting = (records: Records): Records =>
    new Proxy(records, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          this.#counts.set(String(name), (this.#counts.get(String(name)) ?? 0) + 1);
          return Reflect.apply(value, target, args);
        };
      },
    });

  take(): { text: string; total: number } {
    const counts = [...this.#counts];
    this.#counts.clear();
    return {
      text: counts.map(([name, count]) => `${name} ${count}`).join(', '),
      total: counts.reduce((sum, [, count]) => sum + count, 0),
    };
  }
}
