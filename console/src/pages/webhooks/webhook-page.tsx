import { useSignal } from '@preact/signals';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import { useResource } from '../../state/resource.ts';
import { go, href } from '../../state/router.ts';
import { canAdminister } from '../../state/session.ts';
import { Button, Empty, Time } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Facts, Loaded, Page } from '../../ui/page.tsx';
import { attempt, tell } from '../../ui/toast.tsx';
import { Deliveries, type Delivery } from './deliveries.tsx';
import { toPath, toRequest, type Webhook, WHY_DISABLED } from './webhook.ts';
import { WebhookDialog } from './webhook-dialog.tsx';
import { WebhookState } from './webhooks.tsx';

const EVERY_MS = 3000;
const SHOWN_DELIVERIES = 50;

export const WebhookPage = ({ id }: { id: string }) => {
  const webhook = useResource(`webhook ${id}`, (abort) => get<Webhook>(toPath(id), {}, abort), { everyMs: EVERY_MS });
  if (webhook.problem.value?.status === 404) {
    return (
      <Page title="No such webhook" name="No such webhook">
        <Empty title={`There is no webhook ${id}`} icon="webhook">
          <a href={href(['webhooks'])}>All webhooks</a>
        </Empty>
      </Page>
    );
  }
  return <Loaded from={webhook}>{(found) => <Found webhook={found} reload={webhook.reload} />}</Loaded>;
};

interface Tested {
  delivered: boolean;
  status?: number;
  error?: string;
  tookMs: number;
}

const Found = ({ webhook, reload }: { webhook: Webhook; reload: () => void }) => {
  const { id, disabled } = webhook;
  const opened = useSignal<'change' | 'remove' | undefined>(undefined);
  const deliveries = useResource(
    `deliveries ${id}`,
    (abort) => get<{ deliveries: Delivery[] }>(`${toPath(id)}/deliveries`, { limit: SHOWN_DELIVERIES }, abort),
    { everyMs: EVERY_MS },
  );
  const test = async (): Promise<void> => {
    const answer = await attempt(undefined, () => call<Tested>('POST', `${toPath(id)}/test`));
    if (answer instanceof Problem) return;
    const { delivered, status, error, tookMs } = answer;
    const how = status === undefined ? (error ?? 'no answer') : `it answered ${status}`;
    tell(delivered ? `The test arrived in ${tookMs} ms.` : `The test did not arrive: ${how}.`, !delivered);
    deliveries.reload();
  };
  const turn = async (isOff: boolean): Promise<void> => {
    await attempt(isOff ? 'Nothing is sent until it is turned on' : 'Turned on', () =>
      call('PUT', toPath(id), { body: { ...toRequest(webhook), disabled: isOff } }),
    );
    reload();
  };
  const remove = async (): Promise<void> => {
    const answer = await attempt('Removed', () => call('DELETE', toPath(id)));
    if (!(answer instanceof Problem)) go(href(['webhooks']));
  };
  const close = (): void => {
    opened.value = undefined;
    reload();
  };
  return (
    <Page
      name={id}
      title={
        <>
          {id} <WebhookState webhook={webhook} />
        </>
      }
      lead={<code>{webhook.url}</code>}
      actions={
        canAdminister.value && (
          <>
            <Button kind="primary" icon="send" onClick={test} title="Sends one event now, and says how it was answered">
              Test
            </Button>
            <Button onClick={() => (opened.value = 'change')}>Change…</Button>
            <Button icon={disabled ? 'play' : 'pause'} onClick={() => turn(!disabled)}>
              {disabled ? 'Turn on' : 'Turn off'}
            </Button>
            <Button kind="danger" icon="cross" onClick={() => (opened.value = 'remove')}>
              Remove…
            </Button>
          </>
        )
      }
    >
      {disabled && disabled.reason !== 'operator' && (
        <p class="note warn">
          {WHY_DISABLED[disabled.reason]} Nothing is sent since <Time at={disabled.at} />. Mend the receiver, then turn
          it on.
        </p>
      )}
      <div class="columns">
        <Deliveries from={deliveries} />
        <Card class="side">
          <Facts
            rows={[
              ['Events', webhook.types.join(', ')],
              ['Agent', webhook.agent && <a href={href(['agents', webhook.agent])}>{webhook.agent}</a>],
              ['Domain', webhook.domain],
              ['Task', webhook.taskId && <a href={href(['tasks', webhook.taskId])}>{webhook.taskId}</a>],
              ['About', webhook.description],
              ['Secret', 'shown once, when it was made'],
              ['Made', <Time key="m" at={webhook.createdAt} />],
            ]}
          />
        </Card>
      </div>
      {opened.value === 'change' && <WebhookDialog webhook={webhook} onClose={close} />}
      {opened.value === 'remove' && (
        <Dialog title={`Remove ${id}?`} onClose={close}>
          <p>What still waits for it is not sent. A new webhook of this name has another secret.</p>
          <div class="actions">
            <Button onClick={close}>Keep it</Button>
            <Button kind="danger" onClick={remove}>
              Remove the webhook
            </Button>
          </div>
        </Dialog>
      )}
    </Page>
  );
};
