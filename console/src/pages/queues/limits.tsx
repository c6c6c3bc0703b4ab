import { useSignal } from '@preact/signals';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import { useResource } from '../../state/resource.ts';
import { href } from '../../state/router.ts';
import { canOperate } from '../../state/session.ts';
import { Button, Time } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Loaded } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';

interface Limit {
  key: string;
  concurrency?: number;
  rate?: { starts: number; seconds: number };
  source: 'operator' | 'configuration' | 'tasks';
  setBy?: string;
  running: number;
  nextStartAt?: string;
  waiting: { value: number; isExact: boolean };
  holders: { taskId: string }[];
}

const EVERY_MS = 3000;
const MAX_HOLDERS_SHOWN = 3;

const toPath = (key: string): string => `v1/limits/${encodeURIComponent(key)}`;

/** How many tasks of a key run at once, or start in a window. */
export const Limits = () => {
  const limits = useResource('limits', (abort) => get<{ limits: Limit[] }>('v1/limits', { limit: 100 }, abort), {
    when: ({ type }) => /^task\./.test(type),
    everyMs: EVERY_MS,
  });
  const edited = useSignal<Partial<Limit> | undefined>(undefined);
  const close = (): void => {
    edited.value = undefined;
    limits.reload();
  };
  return (
    <Card
      title="Limits"
      isFlush
      aside={
        canOperate.value && (
          <Button icon="plus" onClick={() => (edited.value = {})}>
            Set a limit…
          </Button>
        )
      }
    >
      <Loaded from={limits}>
        {({ limits: found }) =>
          found.length === 0 ? (
            <p class="muted pad">None. A limit says how many tasks of a key run at once, or start in a window.</p>
          ) : (
            <LimitTable limits={found} onEdit={(limit) => (edited.value = limit)} />
          )
        }
      </Loaded>
      {edited.value && <LimitDialog limit={edited.value} onClose={close} />}
    </Card>
  );
};

const LimitTable = ({ limits, onEdit }: { limits: Limit[]; onEdit: (limit: Limit) => void }) => (
  <div class="scroll-x">
    <table>
      <thead>
        <tr>
          <th>Key</th>
          <th class="num">Running</th>
          <th class="num">Unclaimed</th>
          <th>Rate</th>
          <th>Held by</th>
          <th>Set by</th>
          {canOperate.value && <th>Action</th>}
        </tr>
      </thead>
      <tbody>
        {limits.map((limit) => (
          <tr key={limit.key}>
            <td class="strong">{limit.key}</td>
            <td class="num">
              {limit.running}
              {limit.concurrency !== undefined && ` of ${limit.concurrency}`}
            </td>
            <td class="num">{`${limit.waiting.value}${limit.waiting.isExact ? '' : '+'}`}</td>
            <td>
              {limit.rate ? `${limit.rate.starts} in ${limit.rate.seconds} s` : <span class="muted">–</span>}
              {limit.nextStartAt && (
                <span class="muted">
                  , the next <Time at={limit.nextStartAt} />
                </span>
              )}
            </td>
            <td>
              {limit.holders.slice(0, MAX_HOLDERS_SHOWN).map(({ taskId }) => (
                <a key={taskId} href={href(['tasks', taskId])}>
                  {taskId.slice(0, 8)}{' '}
                </a>
              ))}
            </td>
            <td>{limit.setBy ?? <span class="muted">{limit.source}</span>}</td>
            {canOperate.value && (
              <td>
                <Button onClick={() => onEdit(limit)}>Change…</Button>
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const toNumber = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text));

const LimitDialog = ({ limit, onClose }: { limit: Partial<Limit>; onClose: () => void }) => {
  const key = useSignal(limit.key ?? '');
  const concurrency = useSignal(String(limit.concurrency ?? ''));
  const starts = useSignal(String(limit.rate?.starts ?? ''));
  const seconds = useSignal(String(limit.rate?.seconds ?? ''));
  const fields = [
    ['Tasks at once', concurrency],
    ['Starts', starts],
    ['In so many seconds', seconds],
  ] as const;
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const rate = { starts: toNumber(starts.value), seconds: toNumber(seconds.value) };
    const hasRate = rate.starts !== undefined || rate.seconds !== undefined;
    const body = { concurrency: toNumber(concurrency.value), ...(hasRate && { rate }) };
    const answer = await attempt('The limit is set', () => call('PUT', toPath(key.value.trim()), { body }));
    if (!(answer instanceof Problem)) onClose();
  };
  const remove = async (): Promise<void> => {
    const answer = await attempt('The limit is removed', () => call('DELETE', toPath(key.value)));
    if (!(answer instanceof Problem)) onClose();
  };
  return (
    <Dialog title={limit.key === undefined ? 'Set a limit' : `The limit ${limit.key}`} onClose={onClose}>
      <form class="schema-fields" onSubmit={save}>
        <p>
          For tasks that name the key. With <code>requester:</code>, <code>domain:</code> or <code>capability:</code>{' '}
          before a name or <code>*</code>, for all of these.
        </p>
        {limit.key === undefined && (
          <label>
            <span>Key</span>
            <input
              required
              placeholder="openai, or requester:*"
              value={key.value}
              onInput={(event) => (key.value = event.currentTarget.value)}
            />
          </label>
        )}
        {fields.map(([label, field]) => (
          <label key={label}>
            <span>{label}</span>
            <input
              inputMode="numeric"
              pattern="[0-9]*"
              value={field.value}
              onInput={(event) => (field.value = event.currentTarget.value)}
            />
          </label>
        ))}
        <div class="actions">
          {limit.source === 'operator' && <Button onClick={remove}>Remove</Button>}
          <Button type="submit" kind="primary">
            Set the limit
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
