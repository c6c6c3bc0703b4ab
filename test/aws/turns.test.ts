import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import config from '../../parley.config.ts';
import { directoryOf } from '../../shared/agents/directory.ts';
import { register } from '../../shared/agents/register.ts';
import type { Deps } from '../../shared/deps.ts';
import { dispatch } from '../../shared/dispatch/dispatch.ts';
import { onDue } from '../../shared/dispatch/on-due.ts';
import { awsClients } from '../../shared/engines/aws/clients.ts';
import { type AwsEngine, awsEngine } from '../../shared/engines/aws/engine.ts';
import { laneSuffix } from '../../shared/lane-names.ts';
import type { Item, Ref } from '../../shared/ports/records.ts';
import { PACKING } from '../../shared/tasks/packing.ts';
import { headRef } from '../../shared/turns/head.ts';
import { startAwsServices } from '../support/aws-services.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { StreamFollower } from '../support/stream-follower.ts';
import { lives, Story } from '../turns/random-turns.ts';

const RUNS = 25;
const TABLE = 'turns';
const BUCKET = 'contents';

/** The domain on DynamoDB Local, with its stream and its timers, and a time that the test moves. */
const startWorld = async (t: { after(cleanUp: () => unknown): void }) => {
  const services = await startAwsServices();
  services.queues.createBucket(BUCKET);
  await services.createTable(TABLE);
  const [dynamo, faux] = [awsClients(services.dynamo), awsClients(services.faux)];
  const clock = new MovableClock();
  const delay = services.queues.createQueue('delay');
  const newId = randomUUID;
  const engine: AwsEngine = awsEngine({
    clients: { dynamo: dynamo.dynamo, sqs: faux.sqs, s3: faux.s3 },
    table: TABLE,
    bucket: BUCKET,
    laneUrlPrefix: `${services.faux.endpoint}/000000000000/`,
    delayQueueUrl: delay.queueUrl,
    laneSuffix,
    hasLane: () => false,
    log: () => {},
    packing: PACKING,
    eventsKeepMs: config.events.keepMs,
    clock,
    newId,
    announce: async () => {},
  });
  const directory = directoryOf(engine.ports.records, clock);
  const faults: string[] = [];
  const deps: Deps = { ...engine.ports, clock, config, newId, directory, log: () => {}, measure: () => {} };
  const follower = new StreamFollower(services.dynamo, TABLE, 'head', 'turn');
  const watched: Ref<Item>[] = [];
  const running = new AbortController();
  const following = (async () => {
    for (; !running.signal.aborted; await pause(5)) {
      await follower.step(engine, async (changes) => {
        try {
          await dispatch(deps, changes);
        } catch (error) {
          faults.push(String(error));
          throw error;
        }
      });
      // What a sweep and its queue do in real time.
      for (const ref of watched) {
        const record = await deps.records.get(ref);
        if (record?.due !== undefined && record.due <= clock.now()) await onDue(deps, record);
      }
    }
  })();
  t.after(async () => {
    running.abort();
    await following;
    follower.close();
    dynamo.dynamo.destroy();
    faux.sqs.destroy();
    await services.stop();
  });
  return { deps, faults, watched, advance: (ms: number) => clock.advance(ms) };
};

describe('turns on DynamoDB, whatever happens in whatever order and at once', () => {
  it('end once each, are held by one at a time, lose nothing and apply no report twice', {
    timeout: 300_000,
  }, async (t) => {
    const world = await startWorld(t);
    const turns: string[] = [];
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(lives, async (groups) => {
        const id = `agent-${runs++}`;
        await register(world.deps, 'default', id, { dialect: 'common-ground', capabilities: [], via: 'http' });
        const known = await world.deps.directory.agent('default', id);
        assert.ok(known);
        world.watched.splice(0, 1, headRef('default', id));
        const story = new Story(world, known);
        for (const group of groups) await story.play(group);
        await story.drain();
        await story.check();
        turns.push(...story.turns);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    await eventually(async () => {
      const told = new Set<string>();
      for (let after: string | undefined; ; ) {
        const page = await world.deps.events.read('default', { types: ['evt.agent.task'], after, limit: 500 });
        for (const { id } of page.events) told.add(id);
        if (page.cursor === after) break;
        after = page.cursor;
      }
      assert.deepEqual([...told].toSorted(), turns.map((id) => `turn/${id}:evt.agent.task`).toSorted());
    }, 30_000);
    assert.deepEqual(world.faults, []);
  });
});
