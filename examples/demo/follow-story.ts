import { styleText } from 'node:util';
import type { DemoServer } from './start-server.ts';
import { tellEvent } from './tell-event.ts';

/** What happens in a moment is told together: a burst is one line. */
const MOMENT_MS = 700;

/** Prints what happens, until it is over. */
export const followStory = async (server: DemoServer, signal: AbortSignal): Promise<void> => {
  const told = new Map<string, { count: number; style: Parameters<typeof styleText>[0] }>();
  const timer = setInterval(() => {
    const time = new Date().toTimeString().slice(0, 8);
    for (const [text, { count, style }] of told) {
      console.log(
        `${styleText('dim', time)}  ${styleText(style, text)}${count > 1 ? styleText('dim', `  × ${count}`) : ''}`,
      );
    }
    told.clear();
  }, MOMENT_MS);
  try {
    const response = await server.stream('/v1/events', signal);
    let rest = '';
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = /^data: ?(.*)$/m.exec(block)?.[1];
        const found = data === undefined ? undefined : tellEvent(JSON.parse(data));
        if (found) told.set(found.text, { count: (told.get(found.text)?.count ?? 0) + 1, style: found.style });
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(timer);
  }
};
