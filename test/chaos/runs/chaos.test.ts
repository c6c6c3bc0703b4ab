import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isLong } from '../../support/scale.ts';
import { FAULTS, type Fault, parseChaosOptions } from '../options.ts';
import { formatReplay } from '../report.ts';
import { runChaos } from '../run.ts';

/** `npm run chaos` repeats one, and goes on for as long as it is told. */
const SEEDS = isLong ? Array.from({ length: 10 }, () => Math.floor(Math.random() * 2 ** 31)) : [7];
const SECONDS = isLong ? 20 : 2;
/** Ten times what it takes on an idle machine. */
const LONGEST_MS = 280_000;
const ALL = Object.keys(FAULTS) as Fault[];

describe('while everything around it fails', { concurrency: 1 }, () => {
  for (const engine of ['embedded', 'aws'] as const) {
    for (const seed of SEEDS) {
      const options = { seed, seconds: engine === 'aws' && !isLong ? 1 : SECONDS, faults: ALL };
      it(`nothing that was acknowledged is lost, doubled, stuck or handed to two on ${engine} (seed ${seed})`, {
        timeout: LONGEST_MS,
      }, async (t) => {
        const { violations, counts } = await runChaos(t, engine, options);
        const texts = violations.map(({ rule, text }) => `${rule}: ${text}`);
        assert.deepEqual(texts, [], formatReplay(engine, options));
        for (const kind of ['asked', 'claimed', 'reported', 'advanced']) assert.ok((counts[kind] ?? 0) > 0, `${kind}`);
      });
    }
  }
});

describe('npm run chaos', () => {
  it('says which options it does not know', () => {
    assert.throws(() => parseChaosOptions(['--faults', 'kill,weather']), /--faults knows kill, .*, not "weather"\./);
    assert.throws(() => parseChaosOptions(['--engine', 'mainframe']), /--engine must be embedded, aws or both/);
    assert.throws(() => parseChaosOptions(['--seconds', '0']), /--seconds must be a whole number from 1 to 3600/);
  });

  it('repeats what it was told to repeat', () => {
    const options = { seed: 5, seconds: 9, faults: ['kill', 'disk'] as Fault[] };
    const [, , , ...args] = formatReplay('aws', options).split(' ');
    const parsed = parseChaosOptions(args.slice(args.indexOf('--') + 1));
    assert.deepEqual(parsed, { ...options, engines: ['aws'], rounds: 1 });
  });
});
