import { createHash } from 'node:crypto';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { connect } from '../../sdk/typescript/src/index.ts';

/** A graph with a node that another agent does, of any protocol: the task is durable, whoever of the two dies. */
const State = Annotation.Root({ topic: Annotation(), report: Annotation(), headline: Annotation() });
const parley = connect();

/** The same thread asks the same task again, so that a graph that is resumed gets the result of the first one. */
const toTaskId = (thread) => createHash('sha256').update(`research ${thread}`).digest('base64url').slice(0, 32);

const graph = new StateGraph(State)
  .addNode('research', async ({ topic }, { configurable: { thread_id: thread } }) => {
    const { report } = await parley.request('research', { topic }, { id: toTaskId(thread), ttl: '1h' }).result();
    return { report };
  })
  .addNode('summarise', async ({ report }) => ({ headline: report.toUpperCase() }))
  .addEdge(START, 'research')
  .addEdge('research', 'summarise')
  .addEdge('summarise', END)
  .compile();

const [topic = 'tides', thread = 'thread-1'] = process.argv.slice(2);
const { headline } = await graph.invoke({ topic }, { configurable: { thread_id: thread } });
process.stdout.write(`${headline}\n`);
