import { parley, readInbox, repeat, send, sleep } from './agent.ts';

/** Plans dinners as graphs of tasks, and answers questions of the kitchen, if no person was faster. */
const PATIENCE_MS = 20_000;

void repeat(13_000, () => {
  const [recipe, menu, order, invite] = Array.from({ length: 4 }, () => crypto.randomUUID());
  const node = (taskId: string | undefined, capability: string, payload: object) => ({ taskId, capability, payload });
  return parley.call('POST', '/v1/graphs', {
    graphId: crypto.randomUUID(),
    conversationId: 'dinner',
    nodes: [
      node(recipe, 'parse_recipe', { url: 'https://recipes.example/pie' }),
      { ...node(menu, 'plan_menu', { guests: 6 }), dependencies: [recipe] },
      { ...node(order, 'order_food', { shop: 'market' }), dependencies: [menu] },
      { ...node(invite, 'write_invitation', { style: 'formal' }), dependencies: [menu] },
    ],
  });
});

void repeat(45_000, () =>
  send({
    id: crypto.randomUUID(),
    type: 'set_table',
    payload: { room: 'great hall' },
    routing: { source: parley.agent },
  }),
);

void readInbox(async ({ id, status }) => {
  if (status !== 'input_required') return;
  await sleep(PATIENCE_MS);
  await parley.call('POST', `/v1/tasks/${id}/input`, { input: { servings: 4, cloth: 'linen' } });
});
