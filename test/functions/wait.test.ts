import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Wait } from '../../functions/wait.ts';
import { takeSeat } from '../../functions/waiting-room.ts';
import { AwsConfig } from '../../shared/aws-config.ts';
import { eventually } from '../support/eventually.ts';
import { testParley } from '../support/test-parley.ts';

describe('waiting in a function', () => {
  it('is for as many calls of a project as there are seats, until one of them leaves or its time is over', async (t) => {
    const { parley, clock } = await testParley(t);
    const seat = (project = 'default') => takeSeat(parley.deps, project, 1, 20_000);
    const first = await seat();
    assert.ok(first);
    assert.equal(await seat(), undefined);
    assert.ok(await seat('other'), 'each project has its own');
    await first.leave();
    assert.ok(await seat());
    assert.equal(await seat(), undefined);
    clock.advance(20_001);
    const later = await seat();
    assert.ok(later);
    await first.leave();
    assert.equal(await seat(), undefined, 'who left long ago does not free the seat of another');
  });

  it('ends at once where there is no seat, and says when to come again', async (t) => {
    const { parley } = await testParley(t);
    const { config } = parley.deps;
    const aws = AwsConfig.parse({ stage: 'test', waiters: 1 });
    const deps = { ...parley.deps, config: { ...config, aws } };
    const [seated, refused] = [new Wait(deps, 20_000), new Wait(deps, 20_000)];
    const signal = seated.signal('default');
    await eventually(async () => assert.ok(await parley.deps.records.get({ pk: 'default#waiting#0', sk: 'seat' })));
    const none = refused.signal('default');
    await eventually(() => assert.ok(none.aborted));
    assert.deepEqual([signal.aborted, seated.headers(), refused.headers()], [false, {}, { 'retry-after': '1' }]);
    await seated.end();
    const next = new Wait(deps, 20_000);
    next.signal('default');
    await next.end();
    assert.deepEqual(next.headers(), {});
  });

  it('costs nothing where nobody waits', async (t) => {
    const { parley } = await testParley(t);
    await new Wait(parley.deps, 20_000).end();
    assert.equal(await parley.deps.records.get({ pk: 'default#waiting#0', sk: 'seat' }), undefined);
  });
});
