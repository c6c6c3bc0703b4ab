import { parley, pick, readInbox, repeat, send } from './agent.ts';

/** Asks the analyst questions, and wants to know where the answers come from. */
const CITIES = ['Bremen', 'Lisbon', 'Kyoto', 'Quito'];

void repeat(6000, () =>
  send({
    id: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    version: '1.0.0',
    from: { agentId: parley.agent, instanceId: parley.agent },
    to: { agentId: 'analyst', instanceId: 'analyst' },
    type: 'query',
    payload: { content: { question: `How many people live in ${pick(CITIES)}?` }, format: 'json' },
    context: { sessionId: 'demo', requestId: crypto.randomUUID(), conversationId: 'census' },
    evidence: { sources: [], confidence: 0, citations: [], provenance: [] },
  }),
);
void readInbox();
