import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { buildJsonRequest, parseJsonResponse } from '../../local/cloudformation-runner/index.ts';
import config from '../../parley.config.ts';
import { buildQueuePrefix } from '../../shared/config/aws-config.ts';
import { callerWith, httpTransport } from '../support/api.ts';
import { ADMIN_KEY, END_TO_END_MS, passEndToEndTests, startListening } from '../support/end-to-end-run.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';
import { formatLimits } from './limits.ts';

/** With Docker instead of Python: `PARLEY_LOCALSTACK=docker`. */
const usesPython = process.env.PARLEY_LOCALSTACK !== 'docker';
/** The first start installs or downloads LocalStack. */
const START_MS = 900_000;
/** Two of the schedule's minutes. */
const SWEEP_MS = 130_000;

const OWNER = { after };
const dir = tempDir(OWNER);

describe('npm run start:localstack', { concurrency: 1, timeout: START_MS + 2 * END_TO_END_MS }, () => {
  let localstack: Awaited<ReturnType<typeof startListening>>;

  before(
    async () => {
      const args = ['local/start-localstack.ts', '--port', '0', '--data', dir, ...(usesPython ? ['--python'] : [])];
      localstack = await startListening(OWNER, args, { env: SHORT_LIVED_JAVA, startMs: START_MS });
    },
    { timeout: START_MS },
  );

  const readLog = (): string =>
    usesPython
      ? readFileSync(join(dir, 'localstack.log'), 'utf8')
      : execFileSync('docker', ['logs', 'parley-localstack'], { encoding: 'utf8' });

  const getEndpoint = (): string => {
    const [, port] = /QueueUrlPrefix = \S+:(\d+)\//.exec(localstack.said.text) ?? assert.fail(localstack.said.text);
    return `http://127.0.0.1:${port}`;
  };

  const callAws = async (service: string, target: string, body: object): Promise<unknown> => {
    const { headers, body: payload } = buildJsonRequest('test', 'us-east-1', service, target, body);
    const response = await fetch(getEndpoint(), { method: 'POST', headers, body: payload.toString() });
    return parseJsonResponse(target, {
      status: response.status,
      headers: {},
      body: Buffer.from(await response.arrayBuffer()),
    });
  };

  it('creates every resource of the template, and passes over none as unsupported', () => {
    assert.match(localstack.said.text, /CREATE_COMPLETE +\| AWS::Lambda::EventSourceMapping/);
    assert.doesNotMatch(readLog(), /No resource provider found/);
  });

  it('passes the end-to-end tests, all of them', { timeout: 2 * END_TO_END_MS }, async (t) => {
    const passed = await passEndToEndTests(OWNER, localstack.address, 'short');
    t.diagnostic(`All ${passed} end-to-end tests passed, none is left out. ${formatLimits()}`);
  });

  it('runs the sweep by its schedule', { timeout: SWEEP_MS + 10_000 }, async () => {
    const logGroupName = `/aws/lambda/${buildQueuePrefix(config.aws?.stage ?? '')}sweep`;
    const Events = z.object({ events: z.array(z.object({ message: z.string() })) });
    await eventually(async () => {
      const { events } = Events.parse(await callAws('logs', 'Logs_20140328.FilterLogEvents', { logGroupName }));
      assert.ok(events.some(({ message }) => message.includes('"message":"swept"')));
    }, SWEEP_MS);
  });

  it('decodes the path of a request once', async () => {
    const { call } = callerWith(httpTransport(localstack.address), ADMIN_KEY);
    for (const id of ['a/b', 'a?b', 'a%b', 'a%2Fb', '100%25', 'a+b c', 'ü☃']) {
      const { status, body } = await call('GET', `/v1/tasks/${encodeURIComponent(id)}`);
      assert.deepEqual([status, body.detail], [404, `There is no task ${id}.`]);
    }
  });

  it('ends with all that it started', async () => {
    await localstack.stop();
    await assert.rejects(fetch(getEndpoint()), TypeError);
  });
});
