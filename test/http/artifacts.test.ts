import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBodyReader } from '../../shared/http/read-body.ts';
import { eventually } from '../support/eventually.ts';
import { kitchen, taskFormat, tfRequest } from '../support/task-format.ts';
import { type TestParley, testParley } from '../support/test-parley.ts';
import { assertRefused } from './refusal.ts';

const completed = async (parley: TestParley, artifacts: object[]) => {
  const { orchestrator, cook } = await kitchen(parley);
  const { id } = tfRequest();
  await orchestrator.send(tfRequest({ id }));
  assert.equal((await cook.send({ id, status: 'completed', result: {}, artifacts })).status, 202);
  return { orchestrator, cook, id };
};

describe('task artifacts', () => {
  it('lists artifacts by name, type and size and serves each with its own media type', async (t) => {
    const parley = await testParley(t);
    const image = randomBytes(300);
    const { orchestrator, id } = await completed(parley, [
      { name: 'draft.md', type: 'text/markdown; charset=utf-8', content: '# Entwürfe' },
      { name: 'a/b ä.png', type: 'image/png', content: image.toString('base64'), encoding: 'base64' },
    ]);
    const list = await orchestrator.call('GET', `/v1/tasks/${id}/artifacts`);
    assert.deepEqual(list.body.artifacts, [
      { name: 'draft.md', type: 'text/markdown; charset=utf-8', bytes: 11, uri: `/v1/tasks/${id}/artifacts/draft.md` },
      { name: 'a/b ä.png', type: 'image/png', bytes: 300, uri: `/v1/tasks/${id}/artifacts/a%2Fb%20%C3%A4.png` },
    ]);
    const draft = await orchestrator.call('GET', list.body.artifacts[0].uri);
    assert.deepEqual(
      [draft.status, draft.headers['content-type'], draft.body],
      [200, 'text/markdown; charset=utf-8', '# Entwürfe'],
    );
    assert.equal(draft.headers['content-disposition'], 'attachment');
    assert.equal(draft.headers['x-content-type-options'], 'nosniff');
    const headers = { authorization: `Bearer ${orchestrator.key}` };
    const path = list.body.artifacts[1].uri;
    const { body } = await parley.parley.handle({
      method: 'GET',
      path,
      query: '',
      headers,
      readBody: createBodyReader(Buffer.of()),
    });
    assert.ok(body instanceof Uint8Array);
    assert.deepEqual(Buffer.from(body), image);
  });

  it('replaces a large artifact in the message by a reference to it', async (t) => {
    const parley = await testParley(t);
    const large = { name: 'large.txt', type: 'text/plain', content: 'x'.repeat(300_000) };
    const { orchestrator, id } = await completed(parley, [large]);
    const uri = `/v1/tasks/${id}/artifacts/large.txt`;
    const card = { name: 'large.txt', type: 'text/plain', bytes: 300_000, uri };
    assert.deepEqual((await orchestrator.inbox(20))[0].artifacts, [card]);
    assert.deepEqual((await orchestrator.task(id)).artifacts, [card]);
    assert.equal((await orchestrator.call('GET', uri)).body, large.content);
  });

  it('puts the smallest artifacts into the message while they fit, in the order of their sender', async (t) => {
    const parley = await testParley(t);
    const file = (name: string, bytes: number) => ({ name, type: 'text/plain', content: name.repeat(bytes) });
    const sent = [file('a', 200_000), file('b', 300_000), file('c', 10), file('d', 20_000), file('e', 150_000)];
    const { orchestrator, id } = await completed(parley, sent);
    const reference = ({ name, type, content }: (typeof sent)[0]) => {
      const uri = `/v1/tasks/${id}/artifacts/${name}`;
      return { name, type, bytes: content.length, uri };
    };
    const shown = sent.map((artifact) => ('ab'.includes(artifact.name) ? reference(artifact) : artifact));
    assert.deepEqual((await orchestrator.inbox(20))[0].artifacts, shown);
    assert.deepEqual((await orchestrator.task(id)).artifacts, shown);
    const { artifacts } = (await orchestrator.call('GET', `/v1/tasks/${id}/artifacts`)).body;
    assert.deepEqual(artifacts, sent.map(reference));
    for (const { name, content } of sent) {
      assert.equal((await orchestrator.call('GET', `/v1/tasks/${id}/artifacts/${name}`)).body, content);
    }
  });

  it('keeps additional fields of an artifact, also of a large one', async (t) => {
    const parley = await testParley(t);
    const large = { name: 'large.txt', type: 'text/plain', content: 'x'.repeat(300_000), license: { id: 'MIT' } };
    const { orchestrator, cook, id } = await completed(parley, [large]);
    const [shown] = (await orchestrator.inbox(20))[0].artifacts;
    assert.deepEqual([shown.bytes, shown.content, shown.license], [300_000, undefined, large.license]);
    assert.deepEqual((await orchestrator.call('GET', `/v1/tasks/${id}/artifacts`)).body.artifacts, [shown]);
    const next = tfRequest();
    await orchestrator.send(next);
    const artifacts = [{ ...large, license: 'x'.repeat(70_000) }];
    assertRefused(await cook.send({ id: next.id, status: 'completed', artifacts }), 413, 'too_large');
  });

  it('returns an artifact of 20 kB whole', async (t) => {
    const parley = await testParley(t);
    const artifacts = [{ name: 'm.txt', type: 'text/plain', content: 'x'.repeat(20_000) }];
    const { orchestrator } = await completed(parley, artifacts);
    assert.deepEqual((await orchestrator.inbox(20))[0].artifacts, artifacts);
  });

  it('hides artifacts from agents that may not read the task and rejects unknown names', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, id } = await completed(parley, [{ name: 'a', type: 'text/plain', content: 'a' }]);
    assertRefused(await orchestrator.call('GET', `/v1/tasks/${id}/artifacts/b`), 404, 'not_found');
    const outsider = await parley.agent('outsider', taskFormat);
    assertRefused(await outsider.call('GET', `/v1/tasks/${id}/artifacts`), 404, 'task_not_found');
    assertRefused(await outsider.call('GET', `/v1/tasks/${id}/artifacts/a`), 404, 'task_not_found');
  });

  const file = (name: string, content: string) => ({ name, type: 'text/plain', content });
  const held = async (parley: TestParley) => {
    const { orchestrator, cook } = await kitchen(parley);
    const { id } = tfRequest();
    await orchestrator.send(tfRequest({ id }));
    const report = async (status: string, artifacts: object[], more: object = {}) => {
      const reply = await cook.send({ id, status, artifacts, ...more });
      assert.equal(reply.status, 202, JSON.stringify(reply.body));
    };
    const names = async () => {
      const { artifacts } = (await orchestrator.call('GET', `/v1/tasks/${id}/artifacts`)).body;
      return artifacts.map(({ name, bytes }: { name: string; bytes: number }) => [name, bytes]);
    };
    return { orchestrator, cook, id, report, names };
  };

  it('gathers artifacts of all reports, and replaces those of the same name', async (t) => {
    const { orchestrator, id, report, names } = await held(await testParley(t));
    await report('pending', [file('plan', 'p')]);
    await report('in_progress', [file('draft', '1'), file('large', 'x'.repeat(300_000))]);
    assert.deepEqual(await names(), [
      ['plan', 1],
      ['draft', 1],
      ['large', 300_000],
    ]);
    await report('in_progress', [file('draft', '22')]);
    assert.equal((await orchestrator.call('GET', `/v1/tasks/${id}/artifacts/large`)).body.length, 300_000);
    await report('completed', [file('large', 'y'.repeat(9000)), file('end', 'e')]);
    assert.deepEqual(await names(), [
      ['plan', 1],
      ['draft', 2],
      ['large', 9000],
      ['end', 1],
    ]);
    const [{ artifacts }] = await orchestrator.inbox(20);
    assert.deepEqual(artifacts, [
      file('plan', 'p'),
      file('draft', '22'),
      file('large', 'y'.repeat(9000)),
      file('end', 'e'),
    ]);
  });

  it('keeps the artifacts of earlier reports where a result brings none', async (t) => {
    const { orchestrator, report } = await held(await testParley(t));
    await report('in_progress', [file('draft', '1')]);
    await report('completed', [], { artifacts: undefined });
    assert.deepEqual((await orchestrator.inbox(20))[0].artifacts, [file('draft', '1')]);
  });

  it('brings the artifacts of a failure and of a cancellation to the requester', async (t) => {
    for (const [status, more] of [
      ['failed', { error: { code: 'INVALID_INPUT', message: 'no' } }],
      ['cancelled', {}],
    ] as const) {
      const { orchestrator, report } = await held(await testParley(t));
      await report(status, [file('log', 'why')], more);
      const [message] = await orchestrator.inbox(20);
      assert.deepEqual([message.status, message.artifacts], [status, [file('log', 'why')]]);
    }
  });

  it('shows the artifacts of a failed attempt until the next attempt begins', async (t) => {
    const parley = await testParley(t);
    const { orchestrator, cook, report, names } = await held(parley);
    await report('failed', [file('log', 'why')], { error: { code: 'TIMEOUT', message: 'slow' } });
    assert.deepEqual(await names(), [['log', 3]]);
    parley.clock.advance(1000);
    assert.equal((await cook.claim({ wait: 20 })).length, 1);
    assert.deepEqual(await names(), []);
    await report('completed', [file('end', 'e')]);
    assert.deepEqual((await orchestrator.inbox(20))[0].artifacts, [file('end', 'e')]);
  });

  it('rejects more than 64 artifacts of one task', async (t) => {
    const { cook, id, report, names } = await held(await testParley(t));
    const many = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => file(`f${from + at}`, 'x'.repeat(100)));
    await report('in_progress', many(0, 60));
    assertRefused(await cook.send({ id, status: 'in_progress', artifacts: many(60, 65) }), 413, 'too_large');
    assert.equal((await names()).length, 60);
    await report('in_progress', many(56, 64));
    assert.equal((await names()).length, 64);
  });

  it('loses no artifact of two reports at once', async (t) => {
    const { report, names } = await held(await testParley(t));
    await report('in_progress', [file('first', 'x'.repeat(5000))]);
    await Promise.all(['a', 'b'].map((name) => report('in_progress', [file(name, name.repeat(5000))])));
    assert.deepEqual((await names()).map(([name]: [string]) => name).sort(), ['a', 'b', 'first']);
  });

  it('lets no requester put artifacts into its task by cancelling it', async (t) => {
    const { orchestrator, id, report, names } = await held(await testParley(t));
    await report('in_progress', [file('draft', '1')]);
    await orchestrator.send({ id, status: 'cancelled', artifacts: [file('draft', 'forged')] });
    assert.deepEqual(await names(), [['draft', 1]]);
  });

  it('stores repeated artifacts once and deletes their blobs with the task', async (t) => {
    const blobs = new Set<string>();
    const parley = await testParley(t, {
      wrapPorts: (ports) => ({
        ...ports,
        blobs: {
          ...ports.blobs,
          put: async (key, content) => {
            blobs.add(key);
            await ports.blobs.put(key, content);
          },
          delete: async (key) => {
            blobs.delete(key);
            await ports.blobs.delete(key);
          },
        },
      }),
    });
    const sizes = [20_000, 300_000, 400_000];
    const artifacts = sizes.map((size) => ({ name: `${size}`, type: 'text/plain', content: 'x'.repeat(size) }));
    const { orchestrator, cook, id } = await completed(parley, artifacts);
    assert.equal(blobs.size, 3);
    assert.equal((await cook.send({ id, status: 'completed', result: {}, artifacts })).status, 200);
    assert.equal((await cook.send({ id, status: 'completed', result: 1, artifacts })).status, 409);
    assert.equal(blobs.size, 3);
    const replaced = await orchestrator.send(tfRequest({ id: 'replaced' }));
    assert.equal(replaced.status, 202);
    for (const size of sizes) {
      const again = [{ name: 'one', type: 'text/plain', content: 'y'.repeat(size) }];
      await cook.send({ id: 'replaced', status: 'in_progress', artifacts: again });
    }
    await cook.send({ id: 'replaced', status: 'in_progress', artifacts: [file('two', 'z')] });
    await eventually(() => assert.equal(blobs.size, 4));
    assert.equal((await cook.send({ id: 'replaced', status: 'completed' })).status, 202);
    parley.clock.advance(8 * 86_400_000);
    await eventually(() => assert.equal(blobs.size, 0));
  });
});
