import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { findQueuePause, getPausedQueues, NO_PAUSED_QUEUES } from '../../shared/identity/queue-pauses.ts';
import { pauseQueue, resumeQueue } from '../../shared/registration/pause-queue.ts';
import { depsOn } from './domain-on-engine.ts';
import type { Open } from './engine-under-test.ts';

const operator = (project: string) => ({ project, role: 'admin' as const });

export const queuePausesContract = (name: string, open: Open): void => {
  describe(`paused queues on ${name}`, () => {
    it('are all kept where several are paused and resumed at the same time, whatever their names are', async (t) => {
      const deps = depsOn(await open(t));
      const project = `p${randomUUID().slice(0, 8)}`;
      const queues = ['security.scan', 'a.b.c', 'ünï code', 'x:y'].map((one) => ({
        kind: 'capability' as const,
        name: one,
      }));
      assert.equal(await getPausedQueues(deps, project), NO_PAUSED_QUEUES);
      await Promise.all(queues.map((queue) => pauseQueue(deps, operator(project), queue, 'why')));
      const paused = await getPausedQueues(deps, project);
      for (const queue of queues) assert.equal(findQueuePause(paused, queue)?.reason, 'why', queue.name);
      await Promise.all(queues.slice(1).map((queue) => resumeQueue(deps, operator(project), queue)));
      assert.deepEqual(Object.keys(await getPausedQueues(deps, project)), ['capability:security.scan']);
    });
  });
};
