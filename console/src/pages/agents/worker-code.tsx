import { useSignal } from '@preact/signals';
import { BASE } from '../../api/base.ts';
import { CopyButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { CodeView } from '../../ui/json-view.tsx';
import { Tabs } from '../../ui/tabs.tsx';

interface WorkerCodeProps {
  agent: string;
  secret: string | undefined;
  capability: string | undefined;
}

const toCode = (language: string, { secret, capability = 'my.capability' }: WorkerCodeProps): string => {
  const url = BASE.replace(/\/$/, '');
  const env = `export PARLEY_URL=${url}\nexport PARLEY_KEY=${secret ?? '<the key of the agent>'}\n`;
  if (language === 'typescript') {
    return `// npm install parley-sdk, and in the shell:\n${env.replaceAll(/^/gm, '// ').trimEnd()}\n
${"import { connect } from 'parley-sdk';"}

const worker = connect().worker();
worker.on('${capability}', async (task, ctx) => {
  await ctx.progress(50, 'half of it');
  return { done: task.input };
});
await worker.run();
`;
  }
  if (language === 'python') {
    return `# pip install parley-sdk, and in the shell:\n${env.replaceAll(/^(?=.)/gm, '# ')}
${'from parley_sdk import connect'}

parley = connect()
worker = parley.worker()

@worker.on("${capability}")
def work(task, ctx):
    ctx.progress(50, "half of it")
    return {"done": task.input}

worker.run()
`;
  }
  return `${env}\n# Its standard input is the input of the task, its output the result.\nnpx parley work ${capability} --exec 'cat'\n`;
};

/** A worker to paste, with the key that is shown only now. */
export const WorkerCode = (props: WorkerCodeProps) => {
  const language = useSignal('typescript');
  return (
    <>
      {props.secret !== undefined && (
        <div class="note warn">
          <Icon name="key" />
          <div>
            <p>The key is shown only now. Parley keeps its hash.</p>
            <p class="id">
              <code>{props.secret}</code>
              <CopyButton text={props.secret} label="Copy the key" />
            </p>
          </div>
        </div>
      )}
      <div>
        <Tabs
          label="Language"
          options={[
            ['typescript', 'TypeScript'],
            ['python', 'Python'],
            ['shell', 'Shell'],
          ]}
          value={language.value}
          onChange={(value) => (language.value = value)}
        />
      </div>
      <CodeView text={toCode(language.value, props)} label="the worker" />
    </>
  );
};
