import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { QueueActivityIndex } from '../../shared/engines/aws/queue-activity-index.ts';
import { PRIORITIES, type QueueKey } from '../../shared/ports/queues.ts';
import { testParley } from '../support/test-parley.ts';

const project = 'default';
/** Each priority is used for capabilities of its own. */
const ofCapabilities = PRIORITIES.flatMap((priority) =>
  Array.from(
    { length: 10 },
    (_, n): QueueKey => ({ project, kind: 'capability', name: `security.${priority}${n}`, priority }),
  ),
);
const ofDomain = PRIORITIES.map((priority): QueueKey => ({ project, kind: 'domain', name: 'security', priority }));

const openBook = async (t: TestContext) => {
  const { parley } = await testParley(t);
  const { clock, newId, records } = parley.deps;
  return new QueueActivityIndex({ records, clock, newId });
};

describe('which lanes of a domain are in use', () => {
  it('is asked of eight lists a round at most, whatever their priorities, and of all of them in turn', async (t) => {
    const book = await openBook(t);
    await book.recordActivity(ofCapabilities);
    const seen = new Set<string>();
    for (let round = 0; round < 5; round++) {
      const lists = (await book.listActive(ofDomain)).filter(({ kind }) => kind === 'capability');
      const names = new Set(lists.map(({ name }) => name));
      assert.equal(names.size, 8);
      for (const name of names) seen.add(name);
    }
    assert.equal(seen.size, ofCapabilities.length);
  });
});
