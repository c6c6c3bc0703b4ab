import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { planConcurrency } from '../../shared/config/concurrency.ts';
import { type Config, ConfigError, defineConfig } from '../../shared/config/config.ts';

type Values = z.input<typeof Config>;

const domain = { description: '' };
const sound: Values = {
  projects: { default: { domains: { security: domain } } },
  aws: { stage: 'prod' },
};
const mistakesIn = (values: Values): string[] => {
  try {
    defineConfig(values);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
  return [];
};

describe('the configuration of a deployment', () => {
  it('has a default for everything but its stage', () => {
    const { aws } = defineConfig(sound);
    assert.deepEqual(aws, {
      stage: 'prod',
      removal: 'retain',
      customerKey: false,
      throttle: { rate: 3000, burst: 5000, otherRate: 200, otherBurst: 400 },
      concurrency: 1000,
      longPollSlots: 100,
      paused: false,
      logDays: 30,
      logCalls: false,
      canary: false,
      subscriptions: {},
      bus: [
        'task.completed',
        'task.failed',
        'task.expired',
        'task.cancelled',
        'batch.ended',
        'graph.ended',
        'evt.agent.task',
      ],
      alarms: { on: true, concurrency: 800, unauthorizedCalls: 1000, throttledCalls: 1000, oldestMessageMs: 3_600_000 },
    });
  });

  it('is refused where a consumer is of no project, or could not find after a week what it missed', () => {
    const observer = { types: ['task.*'] };
    assert.deepEqual(mistakesIn({ ...sound, consumers: { observer } }), []);
    assert.deepEqual(
      mistakesIn({
        ...sound,
        consumers: { observer: { ...observer, project: 'x' } },
        events: { retentionMs: 86_400_000 },
      }),
      [
        'consumers.observer.project: there is no project x',
        'events.retentionMs: must be 7 days or more where there are consumers',
      ],
    );
    assert.match(mistakesIn({ ...sound, consumers: { observer: { types: [] } } }).join(), /consumers.observer.types/);
  });

  it('refuses subjects for a project that is not there, and a prefix that is taken', () => {
    const names = (nats: Record<string, { prefix?: string }>) =>
      mistakesIn({ ...sound, dialects: { 'round-table': { nats } } });
    assert.deepEqual(names({ x: {} }), ['dialects.round-table.nats.x: there is no project x']);
    for (const prefix of ['cg', 'parley', 'two.tokens', '*', ''])
      assert.match(names({ default: { prefix } }).join(), /dialects.round-table.nats.default.prefix: must be/, prefix);
  });

  it('names all that is wrong with it at once, queue names too', () => {
    const long = 'a'.repeat(32);
    const mistakes = mistakesIn({
      projects: { [long]: { domains: { [long]: domain, security: domain } } },
      dialects: { 'round-table': { version: 'one' } },
      aws: {
        stage: 'Production',
        logDays: 31,
        streamParallelism: 11,
        longPollSlots: 0,
        domain: { name: 'not a name', certificateArn: 'arn:aws:iam::1:x' },
        alarms: { email: 'nobody' },
      },
    });
    const paths = mistakes.map((mistake) => mistake.split(':')[0]);
    assert.deepEqual(paths.sort(), [
      'aws.alarms.email',
      'aws.domain.certificateArn',
      'aws.domain.name',
      'aws.logDays',
      'aws.longPollSlots',
      'aws.stage',
      'aws.streamParallelism',
      'dialects.round-table.version',
      `projects.${long}.domains.${long}`,
    ]);
  });

  it('allows queue names of 80 characters and no more', () => {
    const named = (length: number): Values => ({
      ...sound,
      // parley-prod- (12) + project (32) + - + domain + -critical.fifo (14)
      projects: { ['p'.repeat(32)]: { domains: { ['d'.repeat(length - 12 - 32 - 1 - 14)]: domain } } },
    });
    assert.deepEqual(mistakesIn(named(80)), []);
    assert.match(mistakesIn(named(81))[0] ?? '', /81 characters, SQS allows 80/);
  });

  it('refuses two domains that would share a queue', () => {
    const projects = { a: { domains: { 'b-c': domain } }, 'a-b': { domains: { c: domain } } };
    assert.match(
      mistakesIn({ ...sound, projects }).join(),
      /projects\.a\.domains\.b-c: shares the queue parley-prod-a-b-c-/,
    );
  });

  it('refuses more projects than a policy can name, and no number of domains', () => {
    const many = (count: number, name: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${name}-${at}`, domain]));
    assert.deepEqual(mistakesIn({ ...sound, projects: { default: { domains: many(300, 'domain') } } }), []);
    const projects = Object.fromEntries(
      Object.keys(many(14, 'project')).map((name) => [name, { domains: { a: domain } }]),
    );
    assert.match(mistakesIn({ ...sound, projects }).join(), /^projects: 14 with 56 queues/);
  });

  it('refuses a bus without events, and subscriptions that lead nowhere, twice to one place, or out of a project', () => {
    const aws = (more: Partial<Values['aws']>) => mistakesIn({ ...sound, aws: { stage: 'prod', ...more } });
    assert.match(aws({ bus: [] }).join(), /^aws.bus: /);
    assert.match(aws({ bus: ['task.'] }).join(), /^aws.bus.0: must be an event type/);
    assert.match(aws({ subscriptions: { x: {} } }).join(), /^aws.subscriptions.x: needs exactly one of/);
    assert.match(aws({ subscriptions: { x: { queue: 'a', logGroup: 'b' } } }).join(), /needs exactly one of/);
    assert.match(aws({ subscriptions: { x: { function: 'mine' } } }).join(), /function: must be an ARN of lambda/);
    assert.match(aws({ subscriptions: { x: { project: 'no', queue: 'a' } } }).join(), /there is no project no/);
    assert.match(
      aws({ subscriptions: { x: { queue: 'a' }, y: { queue: 'a' } } }).join(),
      /two of them make the queue a/,
    );
  });

  it('refuses a domain of the API beside CloudFront, which has one of its own', () => {
    const domainOf = (region: string) => ({
      name: 'parley.example.com',
      certificateArn: `arn:aws:acm:${region}:111122223333:certificate/1`,
    });
    const aws = { stage: 'prod', edge: {}, domain: domainOf('eu-central-1') };
    assert.match(mistakesIn({ ...sound, aws }).join(), /^aws.domain: .* aws.edge.domain/);
    const edge = { domain: domainOf('eu-central-1') };
    assert.match(mistakesIn({ ...sound, aws: { stage: 'prod', edge } }).join(), /a certificate in us-east-1/);
  });

  it('asks nothing of AWS where there is no aws section', () => {
    const domains = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${'d'.repeat(28)}-${at}`, domain]));
    assert.deepEqual(mistakesIn({ ...sound, aws: undefined, projects: { ['p'.repeat(32)]: { domains } } }), []);
  });
});

describe('what an account runs at the same time', () => {
  const planned = (aws: object) => defineConfig({ ...sound, aws: { stage: 'prod', ...aws } }).aws;

  it('is divided among waiting calls, the stream and timers', () => {
    assert.equal(planned({})?.longPollSlots, 100);
    assert.equal(planned({ concurrency: 10 })?.longPollSlots, 2);
    assert.deepEqual(planConcurrency({ concurrency: 10 }, 1), {
      isSplit: false,
      streamParallelism: 1,
      timers: 2,
      longPollSlots: 2,
    });
    assert.deepEqual(planConcurrency({ concurrency: 1000 }, 3), {
      isSplit: true,
      streamParallelism: 2,
      timers: 20,
      longPollSlots: 100,
    });
  });

  it('must be enough for what is asked for, or is refused with what to do', () => {
    const [mistake, ...more] = mistakesIn({ ...sound, aws: { stage: 'prod', concurrency: 10, longPollSlots: 5 } });
    assert.match(
      mistake ?? '',
      /^aws\.concurrency: 5 waiting calls .* are 13 functions .* Lower aws\.longPollSlots .* ask AWS/,
    );
    assert.deepEqual(more, []);
    assert.notDeepEqual(mistakesIn({ ...sound, aws: { stage: 'prod', concurrency: 40, streamParallelism: 10 } }), []);
    assert.notDeepEqual(mistakesIn({ ...sound, aws: { stage: 'prod', concurrency: 9 } }), []);
  });
});
