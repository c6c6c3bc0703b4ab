import { get } from '../api/call.ts';
import type { BoundedCount } from '../api/types.ts';
import { useResource } from '../state/resource.ts';

interface Counted {
  count?: BoundedCount;
}

const CHANGES = /^task\.(input_|failed|expired|requested|completed|cancelled|released)/;

/** What the navigation says beside its lines: what waits for a person, and what failed for good. */
export const useCounts = () =>
  useResource(
    'counts',
    async (abort) => {
      const count = (status: string, more = {}) =>
        get<Counted>('v1/tasks', { status, limit: 1, count: 'true', ...more }, abort).then((page) => page.count);
      const [forYou, dead] = await Promise.all([count('input_required'), count('failed,expired')]);
      return { 'for-you': forYou, 'dead-letters': dead } as Record<string, BoundedCount | undefined>;
    },
    { when: ({ type }) => CHANGES.test(type), restMs: 3000 },
  );
