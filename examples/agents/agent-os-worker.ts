import { parley, send, sleep, work } from './agent.ts';

/** Answers questions with evidence: an answer that is sure of itself without a source is rejected. */
await work(async (query) => {
  const reply = (type: string, content: object, evidence: object) =>
    send({
      id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      version: '1.0.0',
      from: { agentId: parley.agent, instanceId: parley.agent },
      to: query.from,
      replyTo: query.id,
      type,
      payload: { content },
      evidence,
    });
  const nothing = { sources: [], confidence: 0, citations: [], provenance: [] };
  await sleep(500);
  await reply('event', { percent: 50, message: 'Reading the register' }, nothing);
  await sleep(700);
  const [name, url] = ['Register of residents', 'https://register.example/2025'];
  const evidence = {
    sources: [{ id: 'register-2025', name, type: 'authority', url }],
    confidence: 85,
    citations: [{ text: 'Table 3', source: name, date: '2025', url }],
    provenance: [
      {
        entity: 'POPULATION_2025',
        wasGeneratedBy: parley.agent,
        wasDerivedFrom: 'register',
        generatedAtTime: new Date().toISOString(),
      },
    ],
  };
  await reply('response', { answer: `About ${200 + Math.floor(Math.random() * 900)},000.` }, evidence);
});
