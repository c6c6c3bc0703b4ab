import { useSignal } from '@preact/signals';
import { call, get } from '../../api/call.ts';
import { Problem } from '../../api/problem.ts';
import { useResource } from '../../state/resource.ts';
import { canAdminister } from '../../state/session.ts';
import { Button, Time } from '../../ui/basics.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Loaded } from '../../ui/page.tsx';
import { attempt } from '../../ui/toast.tsx';
import { WorkerCode } from './worker-code.tsx';

interface Key {
  name: string;
  scope: string;
  createdAt?: string;
  expiresAt?: string;
  lastUsedAt?: string;
}

/** So that running workers have time to get the new one. */
const OVERLAP_SECONDS = 3600;

/** The keys of an agent, made and replaced here. */
export const AgentKeys = ({ agent, capability }: { agent: string; capability: string | undefined }) => {
  const keys = useResource(`keys ${agent}`, (abort) => get<{ keys: Key[] }>('v1/keys', { agent }, abort));
  const fresh = useSignal<string | undefined>(undefined);
  const show = (answer: { key: string } | Problem): void => {
    if (!(answer instanceof Problem)) fresh.value = answer.key;
    keys.reload();
  };
  const add = async (): Promise<void> =>
    show(
      await attempt('A key was made', () =>
        call('POST', 'v1/keys', { body: { name: `key-${Date.now().toString(36)}`, agent, scope: 'agent' } }),
      ),
    );
  const rotate = async (name: string): Promise<void> =>
    show(
      await attempt('The old key works for another hour', () =>
        call('POST', `v1/keys/${encodeURIComponent(name)}/rotate`, {
          body: { agent, overlapSeconds: OVERLAP_SECONDS },
        }),
      ),
    );
  const remove = async (name: string): Promise<void> => {
    await attempt('The key is removed', () =>
      call('DELETE', `v1/keys/${encodeURIComponent(name)}`, { query: { agent } }),
    );
    keys.reload();
  };
  if (keys.problem.value?.status === 403) return null;
  return (
    <Card
      title="Keys"
      aside={
        canAdminister.value && (
          <Button icon="plus" onClick={add}>
            New key
          </Button>
        )
      }
      isFlush
    >
      <Loaded from={keys}>
        {({ keys: found }) => (
          <ul class="lines">
            {found.map(({ name, scope, lastUsedAt, expiresAt }) => (
              <li key={name}>
                <span class="strong">{name}</span>
                <span class="muted">{scope}</span>
                <span class="grow muted clip">
                  {lastUsedAt ? (
                    <>
                      used <Time at={lastUsedAt} />
                    </>
                  ) : (
                    'not used yet'
                  )}
                  {expiresAt && (
                    <>
                      , ends <Time at={expiresAt} />
                    </>
                  )}
                </span>
                {canAdminister.value && (
                  <>
                    <Button onClick={() => rotate(name)}>Rotate</Button>
                    <Button kind="danger" onClick={() => remove(name)}>
                      Remove
                    </Button>
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {fresh.value !== undefined && (
        <Dialog title={`A new key of ${agent}`} onClose={() => (fresh.value = undefined)} isWide>
          <WorkerCode agent={agent} secret={fresh.value} capability={capability} />
        </Dialog>
      )}
    </Card>
  );
};
