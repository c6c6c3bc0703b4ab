import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { type Open, unique } from './engine-under-test.ts';

const DAY_MS = 86_400_000;

/** Names that a task id may have, all printable. */
const ODD = [
  '../x',
  '..',
  '.',
  '../../../../etc/passwd',
  '/absolute',
  'trailing/',
  'a//b',
  'with space',
  'a\\b',
  'C:\\x',
  '%2e%2e%2f',
  'a?b#c&d',
  'CON',
  'naïve 🗡 名',
  'a.tmp',
  '-rf',
  '~',
  '_',
  'UPPER',
  'upper',
];

export const blobsContract = (name: string, open: Open): void => {
  describe(`blobs of ${name}`, () => {
    it('are given back as they were put', async (t) => {
      const { blobs } = (await open(t)).ports;
      const contents = ['', '{"a":1}', 'naïve 🗡\u0000\r\n', 'x'.repeat(1_500_000)];
      for (const content of contents) {
        const key = `p/${unique('task')}/content`;
        await blobs.put(key, content);
        assert.equal(await blobs.get(key), content);
      }
    });

    it('are absent until they are put and after they are deleted', async (t) => {
      const { blobs } = (await open(t)).ports;
      const key = `p/${unique('task')}/content`;
      assert.equal(await blobs.get(key), undefined);
      await blobs.delete(key);
      await blobs.put(key, 'here');
      await blobs.delete(key);
      assert.equal(await blobs.get(key), undefined);
      await blobs.put(key, 'again');
      assert.equal(await blobs.get(key), 'again');
    });

    it('may be put twice, also at once', async (t) => {
      const { blobs } = (await open(t)).ports;
      const key = `p/${unique('task')}/content`;
      await Promise.all(Array.from({ length: 5 }, () => blobs.put(key, 'the same')));
      assert.equal(await blobs.get(key), 'the same');
    });

    it('keep every odd name apart from every other', async (t) => {
      const { blobs } = (await open(t)).ports;
      const task = unique('task');
      const keys = ODD.map((odd) => `p/${task}/${odd}/content`);
      for (const key of keys) await blobs.put(key, key);
      for (const key of keys) assert.equal(await blobs.get(key), key);
      for (const key of keys) {
        await blobs.delete(key);
        assert.equal(await blobs.get(key), undefined);
      }
    });

    it('have room for a name of 128 characters, whatever they are', async (t) => {
      const { blobs } = (await open(t)).ports;
      for (const character of ['a', ' ', '%', '/', 'é', '名', '🗡']) {
        const long = character.repeat(128);
        const [key, other] = [`p/${long}/content`, `p/${long.slice(character.length)}b/content`];
        await blobs.put(key, character);
        await blobs.put(other, 'other');
        assert.deepEqual([await blobs.get(key), await blobs.get(other)], [character, 'other']);
      }
    });

    it('do not stand in the way of one whose key goes on where theirs ends', async (t) => {
      const { blobs } = (await open(t)).ports;
      const key = `p/${unique('task')}`;
      await blobs.put(key, 'short');
      await blobs.put(`${key}/more`, 'long');
      assert.deepEqual([await blobs.get(key), await blobs.get(`${key}/more`)], ['short', 'long']);
      await blobs.delete(`${key}/more`);
      assert.equal(await blobs.get(key), 'short');
    });

    it('are put whatever happens to their neighbours', async (t) => {
      const { blobs } = (await open(t)).ports;
      for (let round = 0; round < 40; round++) {
        const task = `p/${unique('task')}`;
        const puts = [1, 2, 3].map((n) => blobs.put(`${task}/${n}`, `${n}`));
        await Promise.all([...puts, ...[4, 5, 6, 7].map((n) => blobs.delete(`${task}/${n}`))]);
        assert.deepEqual(await Promise.all([1, 2, 3].map((n) => blobs.get(`${task}/${n}`))), ['1', '2', '3']);
      }
    });

    it('stay once somebody owns them, and go after long where nobody does', async (t) => {
      const engine = await open(t);
      const { blobs } = engine.ports;
      engine.follow({});
      const [owned, unowned, ownedTwice] = ['a', 'b', 'c'].map((name) => `p/${unique('task')}/${name}`);
      assert.ok(owned && unowned && ownedTwice);
      for (const key of [owned, unowned, ownedTwice]) await blobs.put(key, key);
      await blobs.retain(owned);
      await Promise.all([blobs.retain(ownedTwice), blobs.retain(ownedTwice)]);
      await engine.pass(DAY_MS - 1);
      assert.equal(await blobs.get(unowned), unowned);
      await eventually(async () => {
        await engine.pass(100 * DAY_MS);
        assert.equal(await blobs.get(unowned), undefined);
      });
      assert.deepEqual([await blobs.get(owned), await blobs.get(ownedTwice)], [owned, ownedTwice]);
      await blobs.delete(owned);
      assert.equal(await blobs.get(owned), undefined);
    });

    it('may be owned when they are gone, which does not bring them back', async (t) => {
      const { blobs } = (await open(t)).ports;
      const key = `p/${unique('task')}/content`;
      await blobs.retain(key);
      await blobs.put(key, 'here');
      await Promise.all([blobs.retain(key), blobs.delete(key)]);
      await blobs.retain(key);
      assert.equal(await blobs.get(key), undefined);
    });

    it('are found by whoever reads them while they become owned', async (t) => {
      const { blobs } = (await open(t)).ports;
      for (let round = 0; round < 20; round++) {
        const key = `p/${unique('task')}/content`;
        await blobs.put(key, 'here');
        const reads = Array.from({ length: 8 }, () => blobs.get(key));
        const [, ...found] = await Promise.all([blobs.retain(key), ...reads]);
        assert.deepEqual(new Set(found), new Set(['here']));
      }
    });

    it('stay owned after a crash', async (t) => {
      const engine = await open(t);
      const key = `p/${unique('task')}/content`;
      await engine.ports.blobs.put(key, 'kept');
      await engine.ports.blobs.retain(key);
      await engine.crash();
      engine.follow({});
      await engine.pass(101 * DAY_MS);
      assert.equal(await engine.ports.blobs.get(key), 'kept');
    });

    it('survive a crash', async (t) => {
      const engine = await open(t);
      const key = `p/${unique('task')}/content`;
      await engine.ports.blobs.put(key, 'kept');
      await engine.crash();
      assert.equal(await engine.ports.blobs.get(key), 'kept');
    });
  });
};
