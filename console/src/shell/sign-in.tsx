import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { endedKey, isGone } from '../api/call.ts';
import type { Problem } from '../api/problem.ts';
import { href, params, replace, steps } from '../state/router.ts';
import { signIn, signInWithCode } from '../state/session.ts';
import { Button } from '../ui/basics.tsx';
import { Icon, Logo } from '../ui/icons.tsx';

const explain = ({ code, message }: Problem): string => {
  if (code === 'unauthorized')
    return 'Parley does not know this key. The admin key is in the file admin-key of its data folder.';
  if (code === 'gone') return 'Parley does not answer. Is it running?';
  return message;
};

export const SignIn = () => {
  const text = useSignal('');
  const problem = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const code = steps.value[0] === 'sign-in' ? params.value.get('code') : null;
  useEffect(() => {
    if (code === null) return;
    // The code is good once: a reload must not try it again.
    replace(href([]));
    void (async () => {
      isBusy.value = true;
      const refused = await signInWithCode(code);
      isBusy.value = false;
      if (refused) {
        problem.value =
          refused.code === 'gone' ? explain(refused) : 'This link was used before, or is too old. Sign in with a key.';
      }
    })();
  }, [code, isBusy, problem]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.value.trim() === '') return;
    isBusy.value = true;
    const refused = await signIn(text.value.trim());
    isBusy.value = false;
    problem.value = refused && explain(refused);
  };
  const shown =
    problem.value ?? (endedKey.value && 'The key of this tab is no longer valid. Sign in with another one.');
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <Logo size={40} />
        <h1>Sign in to Parley</h1>
        <label>
          Key
          <input
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
            aria-invalid={shown !== undefined}
            aria-describedby="sign-in-note"
          />
        </label>
        {(shown ?? (isGone.value && 'Parley does not answer. Is it running?')) && (
          <p class="note bad" role="alert">
            <Icon name="dead" /> <span>{shown ?? 'Parley does not answer. Is it running?'}</span>
          </p>
        )}
        <Button type="submit" kind="primary" isDisabled={isBusy.value}>
          {isBusy.value ? 'Signing in…' : 'Sign in'}
        </Button>
        <p class="muted small" id="sign-in-note">
          An admin key sees everything, an agent's key what concerns the agent. It stays in this tab until you close it.
          The link that <code>npm start</code> prints signs in without a key.
        </p>
      </form>
    </main>
  );
};
