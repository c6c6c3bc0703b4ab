import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { UnusedGrant } from '../../local/cloudformation-runner/index.ts';
import config from '../../parley.config.ts';
import { listQueues } from '../../shared/ports/queue-names.ts';
import { END_TO_END_MS, passEndToEndTests, startListening } from '../support/end-to-end-run.ts';
import { isLong } from '../support/scale.ts';
import { tempDir } from '../support/server-process.ts';
import { SHORT_LIVED_JAVA } from '../support/short-lived-java.ts';
import { BY_CHANCE, COMPOSED, needlessGrants, PROVEN_ALONE } from './needless-grants.ts';

/** With synthesizing it first, on a machine that does other things too. */
const START_MS = 180_000;

const OWNER = { after };

/** What it says at its end that no call has needed. */
const unusedIn = (text: string): UnusedGrant[] => {
  const [, report] = text.split('Grants that no call has needed:\n');
  const lines = (report ?? assert.fail(text)).trim().split('\n');
  return lines.map((line) => {
    const [functionName = '', action = '', resource = ''] = line.trim().split(/\s+/);
    return { functionName, action, resource };
  });
};

const isProvenAlone = (grant: string): boolean =>
  [...PROVEN_ALONE, ...Object.keys(COMPOSED)].some((name) => grant.startsWith(`${name} `));

describe('npm run start:aws', () => {
  it('passes the end-to-end tests, all of them, refuses no function what it asks of AWS, and allows none what it never asks', {
    timeout: START_MS + END_TO_END_MS,
  }, async () => {
    const args = ['local/start-aws.ts', '--port', '0', '--data', tempDir(OWNER), '--report-grants'];
    const aws = await startListening(OWNER, args, { env: SHORT_LIVED_JAVA, startMs: START_MS });
    await passEndToEndTests(OWNER, aws.address, isLong ? 'long' : 'short');
    // What a function is refused may be made good by another, a while later.
    assert.doesNotMatch(aws.said.text, /is not authorized to perform/);
    await aws.stop();
    const needless = needlessGrants(unusedIn(aws.said.text), listQueues(config.projects));
    assert.deepEqual(
      needless.filter((grant) => !isProvenAlone(grant) && !(grant in BY_CHANCE)),
      [],
    );
  });
});
