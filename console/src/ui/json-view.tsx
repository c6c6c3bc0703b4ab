import { toText } from '../model/format.ts';
import { CopyButton } from './basics.tsx';

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MAX_COLOURED = 100_000;

/** JSON with colours, made of elements: content of agents never becomes markup. */
const colour = (text: string) => {
  if (text.length > MAX_COLOURED) return text;
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const [all, string, colon, word] = match;
    if (string !== undefined) {
      parts.push(
        <span key={match.index} class={colon === undefined ? 'j-text' : 'j-name'}>
          {string}
        </span>,
        colon ?? '',
      );
    } else {
      parts.push(
        <span key={match.index} class={word === undefined ? 'j-number' : 'j-word'}>
          {all}
        </span>,
      );
    }
    at = match.index + all.length;
  }
  parts.push(text.slice(at));
  return parts;
};

export const JsonView = ({ value, label = 'JSON' }: { value: unknown; label?: string }) => {
  const text = toText(value);
  return (
    <div class="code">
      <CopyButton text={text} label={`Copy ${label}`} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0} role="group" aria-label={label}>
        {typeof value === 'string' ? text : colour(text)}
      </pre>
    </div>
  );
};

export const CodeView = ({ text, label }: { text: string; label: string }) => <JsonView value={text} label={label} />;
