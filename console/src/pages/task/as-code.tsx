import { useSignal } from '@preact/signals';
import { BASE } from '../../api/base.ts';
import type { Task } from '../../api/types.ts';
import { CodeView } from '../../ui/json-view.tsx';
import { Card } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const WAYS: Record<string, (task: Task) => string> = {
  curl: ({ type, payload, priority }) =>
    `curl -s ${BASE}v1/messages \\\n  -H "Authorization: Bearer $PARLEY_KEY" -H 'Parley-Dialect: native' \\\n  -d ${quote(
      JSON.stringify({ kind: 'request', id: '<a new id>', capability: type, input: payload ?? {}, priority }),
    )}`,
  TypeScript: ({ type, payload, priority }) =>
    `import { connect } from 'parley-sdk';\n\nconst parley = connect(); // PARLEY_URL and PARLEY_KEY\nconst result = await parley\n  .request(${JSON.stringify(type)}, ${JSON.stringify(payload ?? {})}, { priority: '${priority}' })\n  .result();`,
  Python: ({ type, payload, priority }) =>
    `from parley_sdk import connect\n\nparley = connect()  # PARLEY_URL and PARLEY_KEY\nresult = parley.request(${JSON.stringify(type)}, ${toPython(payload ?? {})}, priority="${priority}").result()`,
  Shell: ({ type, payload, priority }) =>
    `npx parley send ${quote(type)} ${quote(JSON.stringify(payload ?? {}))} --priority ${priority} --watch`,
  'curl, to read it': ({ id }) =>
    `curl -s ${BASE}v1/tasks/${encodeURIComponent(id)} -H "Authorization: Bearer $PARLEY_KEY"`,
};

const toPython = (value: unknown): string =>
  JSON.stringify(value).replace(/"(?:\\.|[^"\\])*"|\btrue\b|\bfalse\b|\bnull\b/g, (token) =>
    token === 'true' ? 'True' : token === 'false' ? 'False' : token === 'null' ? 'None' : token,
  );

export const AsCode = ({ task }: { task: Task }) => {
  const way = useSignal('curl');
  return (
    <Card title="The same request as code">
      <Tabs
        label="Language"
        options={Object.keys(WAYS).map((name) => [name, name] as const)}
        value={way.value}
        onChange={(name) => (way.value = name)}
      />
      <CodeView text={WAYS[way.value]?.(task) ?? ''} label="the code" />
    </Card>
  );
};
