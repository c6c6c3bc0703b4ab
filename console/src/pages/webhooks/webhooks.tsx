import { get } from '../../api/call.ts';
import { useResource } from '../../state/resource.ts';
import { href, params, setParams } from '../../state/router.ts';
import { canAdminister } from '../../state/session.ts';
import { Badge, Button, Empty, Time } from '../../ui/basics.tsx';
import { Card, Loaded, Page } from '../../ui/page.tsx';
import { type Webhook, WHY_DISABLED } from './webhook.ts';
import { WebhookDialog } from './webhook-dialog.tsx';

const EVERY_MS = 5000;

export const WebhookState = ({ webhook: { disabled } }: { webhook: Webhook }) =>
  disabled ? (
    <span title={WHY_DISABLED[disabled.reason]}>
      <Badge tone={disabled.reason === 'operator' ? 'warn' : 'bad'}>
        {disabled.reason === 'operator' ? 'off' : disabled.reason}
      </Badge>
    </span>
  ) : (
    <Badge tone="good">on</Badge>
  );

export const Webhooks = () => {
  const webhooks = useResource('webhooks', (abort) => get<{ webhooks: Webhook[] }>('v1/webhooks', {}, abort), {
    everyMs: EVERY_MS,
  });
  const close = (): void => {
    setParams({ new: '' });
    webhooks.reload();
  };
  const isForOthers = webhooks.problem.value?.status === 403;
  return (
    <Page
      title="Webhooks"
      name="Webhooks"
      lead="Addresses that are sent what happens here."
      actions={
        canAdminister.value && (
          <Button kind="primary" icon="plus" onClick={() => setParams({ new: 'true' })}>
            New webhook
          </Button>
        )
      }
    >
      {isForOthers ? (
        <Card>
          <Empty title="Only operators see webhooks" icon="key">
            Sign in with a key that belongs to no agent.
          </Empty>
        </Card>
      ) : (
        <Loaded from={webhooks}>
          {({ webhooks: found }) => (
            <Card isFlush>
              {found.length === 0 ? (
                <Empty title="No webhooks yet" icon="webhook">
                  A webhook sends events, such as <code>task.completed</code>, to an address of yours. They are signed,
                  and repeated until they are taken.
                </Empty>
              ) : (
                <WebhookTable webhooks={found} />
              )}
            </Card>
          )}
        </Loaded>
      )}
      {params.value.get('new') && canAdminister.value && <WebhookDialog onClose={close} />}
    </Page>
  );
};

const WebhookTable = ({ webhooks }: { webhooks: Webhook[] }) => (
  <div class="scroll-x">
    <table>
      <thead>
        <tr>
          <th>Webhook</th>
          <th>State</th>
          <th>Address</th>
          <th>Events</th>
          <th class="num">Made</th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => (
          <tr key={webhook.id}>
            <td>
              <a class="strong" href={href(['webhooks', webhook.id])}>
                {webhook.id}
              </a>
            </td>
            <td>
              <WebhookState webhook={webhook} />
            </td>
            <td>
              <code>{webhook.url}</code>
            </td>
            <td class="muted">{webhook.types.join(', ')}</td>
            <td class="num">
              <Time at={webhook.createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
