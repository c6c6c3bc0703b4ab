import { connect } from '../../sdk/typescript/src/index.ts';

/** Forks a report into three questions, and joins the answers. Each subtask is requested once, however often this runs. */
const worker = connect().worker({ concurrency: 4 });

worker.on<{ topic: string }>('intel.report', async ({ input }, ctx) => {
  const aspects = ['history', 'numbers', 'rumours'];
  const answers = await Promise.all(
    aspects.map((aspect) => ctx.call('intel.facts', { topic: input.topic, aspect }, { name: aspect })),
  );
  return { topic: input.topic, sections: answers };
});

await worker.run();
