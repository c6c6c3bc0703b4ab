import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { connect } from '../../sdk/typescript/src/index.ts';

/** A graph as a durable worker: each node is a step of the task, so that no later attempt repeats what it has done. */
const State = Annotation.Root({ topic: Annotation(), facts: Annotation(), report: Annotation() });

/** Scripted, so that the example needs no account. Put your model here. */
const model = new FakeListChatModel({ responses: ['two tides a day', 'REPORT: two tides a day'] });
const think = async (text) => (await model.invoke(text)).content;

/** The node, once in the life of the task. */
const durable = (name, run) => (state, config) => config.configurable.ctx.step(name, () => run(state));

const collect = durable('collect', async ({ topic }) => {
  process.stdout.write('collecting\n');
  return { facts: await think(`Collect facts about ${topic}.`) };
});
const write = durable('write', async ({ facts }) => {
  if (process.env.DIES_AT === 'write') process.kill(process.pid, 'SIGKILL');
  process.stdout.write('writing\n');
  return { report: `REPORT: ${facts}` };
});

const graph = new StateGraph(State)
  .addNode('collect', collect)
  .addNode('write', write)
  .addEdge(START, 'collect')
  .addEdge('collect', 'write')
  .addEdge('write', END)
  .compile();

const worker = connect().worker();
worker.on('research', async (task, ctx) => {
  const { report } = await graph.invoke({ topic: task.input.topic }, { configurable: { ctx } });
  return { report };
});
process.stdout.write('ready\n');
await worker.run();
