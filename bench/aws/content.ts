import { randomUUID } from 'node:crypto';
import { noise, sentences, type Text } from './texts.ts';

export interface Content {
  label: string;
  text: Text;
  requestBytes: number;
  resultBytes: number;
}

const KB = 1024;
const SEED = 20_260;

export const CONTENTS = {
  text: { label: 'text', text: sentences(SEED), requestBytes: KB, resultBytes: KB },
  noise: { label: 'random base64', text: noise(SEED), requestBytes: KB, resultBytes: KB },
  shortResult: { label: 'text, result of 100 bytes', text: sentences(SEED), requestBytes: KB, resultBytes: 100 },
} as const satisfies Record<string, Content>;

export const CAPABILITY = 'security.briefing';

const envelope = (from: string) => ({ version: '1.0', from, timestamp: new Date().toISOString() });

const filled = <T extends object>(bytes: number, text: Text, payload: (text: string) => T): T =>
  payload(text(bytes - JSON.stringify(payload('')).length));

export const requestOf = (from: string, { text, requestBytes }: Content): string =>
  JSON.stringify({
    id: randomUUID(),
    ...envelope(from),
    type: 'task.request',
    payload: filled(requestBytes, text, (prompt) => ({
      task: CAPABILITY,
      params: { scope: 'daily', sources: ['nvd', 'cisa', 'vendor'], prompt },
    })),
  });

export const resultOf = (from: string, taskId: string, { text, resultBytes }: Content): string =>
  JSON.stringify({
    id: randomUUID(),
    ...envelope(from),
    type: 'task.result',
    correlationId: taskId,
    payload: filled(resultBytes, text, (content) => ({ status: 'completed', result: { format: 'markdown', content } })),
  });
