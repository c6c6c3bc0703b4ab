import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getBox } from '../../shared/cards/box.ts';
import { createOutputBox } from '../../shared/cards/create-box.ts';
import { getCard, putCard } from '../../shared/cards/put-card.ts';
import type { Agent } from '../../shared/identity/agents/agent.ts';
import { agentStateRef } from '../../shared/model/agent-state.ts';
import { type Turn, turnRef } from '../../shared/model/turn.ts';
import { loadContent } from '../../shared/storage/content.ts';
import { appendToBox } from '../../shared/turns/lifecycle/append-to-box.ts';
import { appendChunk, listChunksFrom } from '../../shared/turns/streams/chunk.ts';
import { depsOn } from './domain-on-engine.ts';
import { type Open, unique } from './engine-under-test.ts';

export const cardsContract = (name: string, open: Open): void => {
  describe(`cards, boxes and chunks on ${name}`, () => {
    it('keep content of any size, once for all who make it at the same time', async (t) => {
      const deps = depsOn(await open(t));
      const project = unique('p');
      for (const content of [null, 'x'.repeat(8190), 'ü'.repeat(8190), { deep: [{ a: 1 }] }]) {
        const made = await Promise.all(
          Array.from({ length: 4 }, () => putCard(deps, project, 'tim', 'tool.result', content)),
        );
        assert.equal(made.filter(({ isNew }) => isNew).length, 1);
        assert.equal(new Set(made.map(({ id }) => id)).size, 1);
        const card = await getCard(deps, project, made[0]?.id ?? '');
        assert.deepEqual(await loadContent(deps.blobs, card.project, card.content), content);
      }
    });

    it('let a box grow only while its turn is current', async (t) => {
      const deps = depsOn(await open(t));
      const [project, turn] = [unique('p'), unique('turn')];
      const cards = await Promise.all(
        ['a', 'b', 'c'].map(async (text) => (await putCard(deps, project, 'tim', 'agent.thought', text)).id),
      );
      await deps.records.update(turnRef(project, turn), { set: { agent: 'tim' } }, 'queued', 'orCreate');
      await createOutputBox(deps, project, 'tim', { id: 'out', writer: 'tim', turn });
      const append = (card: string | undefined, epoch: number) =>
        appendToBox(deps, project, { boxId: 'out', cards: [card ?? ''], writer: 'tim', epoch });
      await assert.rejects(append(cards[0], 1), { code: 'stale_turn' });
      await deps.records.update(agentStateRef(project, 'tim'), { set: { turn, epoch: 1 } }, 'one', 'orCreate');
      await append(cards[0], 1);
      await append(cards[1], 1);
      await append(cards[0], 1);
      await deps.records.update(agentStateRef(project, 'tim'), { set: { epoch: 2 } }, 'two');
      await assert.rejects(append(cards[2], 1), { code: 'stale_turn' });
      assert.deepEqual((await getBox(deps, project, 'out')).cards, cards.slice(0, 2));
    });

    it('lose no chunk where many are written at once, and give them back as they arrived', async (t) => {
      const deps = depsOn(await open(t));
      const [project, id] = [unique('p'), unique('turn')];
      const whose: Pick<Agent, 'project' | 'id'> = { project, id: 'tim' };
      const say = (content: string) =>
        appendChunk(deps, whose, { agent_turn_id: id, step_id: 's', chunk_type: 'content', content });
      const contents = Array.from({ length: 20 }, (_, n) => `${n}`);
      await Promise.all(contents.map(say));
      const turn: Pick<Turn, 'pk' | 'agent'> = { pk: turnRef(project, id).pk, agent: 'tim' };
      const { received, hasMore } = await listChunksFrom(deps, turn, 0);
      assert.deepEqual(
        received.map(({ chunk }) => chunk.content),
        contents,
      );
      assert.equal(hasMore, false);
      assert.deepEqual((await listChunksFrom(deps, { ...turn, agent: 'kay' }, 0)).received, []);
    });
  });
};
