import { useSignal } from '@preact/signals';
import { call } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import { href } from '../../state/router.ts';
import { Button, ProblemNote } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { CodeView } from '../../ui/json-view.tsx';
import { attempt } from '../../ui/toast.tsx';
import { toPath, toRequest, type Webhook } from './webhook.ts';

interface WebhookDialogProps {
  /** Absent for a new one. */
  webhook?: Webhook;
  onClose: () => void;
}

const FIELDS = [
  { name: 'url', label: 'Address', hint: 'An HTTPS address that anybody can reach.', isRequired: true },
  { name: 'types', label: 'Events', hint: 'With commas between. task.* means all of tasks.', isRequired: true },
  { name: 'agent', label: 'Agent', hint: 'Only tasks that it requests, is addressed or holds.' },
  { name: 'domain', label: 'Domain', hint: 'Only tasks of this domain.' },
  { name: 'description', label: 'Description', hint: 'For whoever finds it here later.' },
] as const;

type Values = Record<(typeof FIELDS)[number]['name'], string>;

export const WebhookDialog = ({ webhook, onClose }: WebhookDialogProps) => {
  const id = useSignal(webhook?.id ?? '');
  const values = useSignal<Values>({
    url: webhook?.url ?? '',
    types: webhook?.types.join(', ') ?? 'task.completed, task.failed',
    agent: webhook?.agent ?? '',
    domain: webhook?.domain ?? '',
    description: webhook?.description ?? '',
  });
  const problem = useSignal<Problem | undefined>(undefined);
  const secret = useSignal<string | undefined>(undefined);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const types = values.value.types.split(/[\s,]+/).filter(Boolean);
    const body = toRequest({ ...values.value, types, ...(webhook?.taskId && { taskId: webhook.taskId }) });
    const answer = await attempt(webhook ? 'Changed' : undefined, () =>
      call<{ secret?: string }>('PUT', toPath(id.value.trim()), { body }),
    );
    problem.value = answer instanceof Problem ? answer : undefined;
    if (answer instanceof Problem) return;
    if (answer.secret === undefined) onClose();
    else secret.value = answer.secret;
  };
  if (secret.value !== undefined) {
    return (
      <Dialog title={`${id.value} is made`} onClose={onClose}>
        <p>
          This secret signs what is sent. Give it to the receiver now: <strong>it is never shown again</strong>.
        </p>
        <CodeView text={secret.value} label="the secret" />
        <div class="actions">
          <a class="button primary" href={href(['webhooks', id.value])} onClick={onClose}>
            Open {id.value}
          </a>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={webhook ? `Change ${webhook.id}` : 'New webhook'} onClose={onClose}>
      <form class="schema-fields" onSubmit={save}>
        {!webhook && (
          <label>
            Name
            <input
              required
              pattern="[a-z0-9_\-]{1,64}"
              title="1 to 64 small letters, digits, - and _"
              placeholder="chat"
              value={id.value}
              onInput={(event) => (id.value = event.currentTarget.value)}
            />
          </label>
        )}
        {FIELDS.map(({ name, label, hint, ...more }) => (
          <label key={name}>
            <span>
              {label} {!('isRequired' in more) && <span class="muted">optional</span>}
            </span>
            <input
              required={'isRequired' in more}
              inputMode={name === 'url' ? 'url' : 'text'}
              placeholder={name === 'url' ? 'https://chat.example.com/hooks/parley' : ''}
              value={values.value[name]}
              onInput={(event) => (values.value = { ...values.value, [name]: event.currentTarget.value })}
            />
            <span class="hint">{hint}</span>
          </label>
        ))}
        {problem.value && <ProblemNote problem={problem.value} />}
        <div class="actions">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" kind="primary">
            {webhook ? 'Change' : 'Make'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
