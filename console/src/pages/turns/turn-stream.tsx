import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { readStream } from '../../api/event-stream.ts';
import { Badge } from '../../ui/basics.tsx';
import { Card } from '../../ui/page.tsx';

const SHOW_MS = 100;

const toText = (data: string): string => {
  const chunk = JSON.parse(data) as Record<string, unknown>;
  const { payload = chunk } = chunk as { payload?: Record<string, unknown> };
  for (const name of ['text', 'delta', 'content', 'chunk', 'data']) {
    const found = payload[name];
    if (typeof found === 'string') return found;
  }
  return `${JSON.stringify(payload)}\n`;
};

/** What the agent says while it works, as it comes. */
export const TurnStream = ({ id }: { id: string }) => {
  const text = useSignal('');
  const isOver = useSignal(false);
  useEffect(() => {
    const abort = new AbortController();
    let fresh = '';
    const timer = setInterval(() => {
      if (fresh === '') return;
      text.value += fresh;
      fresh = '';
    }, SHOW_MS);
    readStream(`v1/turns/${encodeURIComponent(id)}/stream`, undefined, abort.signal, ({ event, data }) => {
      if (event === 'chunk' && data !== '') fresh += toText(data);
      else if (event === 'end') isOver.value = true;
    }).catch(() => {});
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [id, text, isOver]);
  if (text.value === '') return null;
  return (
    <Card title="Stream" aside={!isOver.value && <Badge tone="busy">streams</Badge>}>
      <div class="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
        <pre tabIndex={0} role="log" aria-label="What the agent streams">
          {text.value}
        </pre>
      </div>
    </Card>
  );
};
