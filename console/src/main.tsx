import './style/index.css';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { endedKey, key, returns } from './api/call.ts';
import { identity, signIn } from './state/session.ts';
import './state/theme.ts';
import { Pages } from './pages/pages.tsx';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { Loading } from './ui/basics.tsx';

const App = () => {
  const stored = key.value;
  const isKnown = identity.value !== undefined;
  const tries = returns.value;
  useEffect(() => {
    if (stored !== undefined && !isKnown) {
      void signIn(stored).then((refused) => {
        if (refused && refused.code !== 'gone') {
          endedKey.value = refused.message;
          key.value = undefined;
        }
      });
    }
  }, [stored, isKnown, tries]);
  if (stored === undefined || endedKey.value !== undefined) return <SignIn />;
  if (!isKnown) return <Loading />;
  return (
    <Shell>
      <Pages />
    </Shell>
  );
};

const root = document.getElementById('app');
if (root) render(<App />, root);
