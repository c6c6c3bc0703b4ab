import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { isGone, isOwnKey } from '../api/call.ts';
import { followEvents, isLive } from '../api/event-stream.ts';
import { formatBounded } from '../model/format.ts';
import { href, place, steps } from '../state/router.ts';
import { canOperate, identity, signOut } from '../state/session.ts';
import { switchTheme, theme } from '../state/theme.ts';
import { Icon, type IconName, Logo } from '../ui/icons.tsx';
import { Toasts } from '../ui/toast.tsx';
import { useCounts } from './counts.ts';
import { DESTINATIONS } from './navigation.ts';
import { isPaletteOpen, Shortcuts } from './shortcuts.tsx';

const THEME_ICONS: Record<string, IconName> = { system: 'system', light: 'sun', dark: 'moon' };

const Navigation = ({ onChoose }: { onChoose?: () => void }) => {
  const counts = useCounts().data.value ?? {};
  const [current = ''] = steps.value;
  return (
    <nav aria-label="Pages">
      {DESTINATIONS.map((group) => (
        <ul key={group[0]?.path}>
          {group.map(({ path, label, icon }) => {
            const count = counts[path];
            return (
              <li key={path}>
                <a
                  href={href([path].filter(Boolean))}
                  aria-current={current === path ? 'page' : undefined}
                  onClick={onChoose}
                >
                  <Icon name={icon} />
                  <span class="grow">{label}</span>
                  {count && count.value > 0 && (
                    <span class={`count ${path === 'dead-letters' ? 'bad' : 'warn'}`}>{formatBounded(count)}</span>
                  )}
                </a>
              </li>
            );
          })}
        </ul>
      ))}
    </nav>
  );
};

const Foot = () => (
  <div class="foot">
    <p class="identity">
      <Icon name="key" size={14} />
      <span class="grow" title={`Project ${identity.value?.project}`}>
        {identity.value?.agent ?? (isOwnKey() ? 'operator' : identity.value?.name)} · {identity.value?.project}
        {!canOperate.value && ' · reads only'}
      </span>
    </p>
    <div class="foot-buttons">
      <button
        type="button"
        class="copy"
        onClick={switchTheme}
        aria-label={`Colours: ${theme.value}`}
        title={`Colours: ${theme.value}`}
      >
        <Icon name={THEME_ICONS[theme.value] ?? 'system'} />
      </button>
      <button
        type="button"
        class="copy"
        onClick={() => (isPaletteOpen.value = true)}
        aria-label="Search and shortcuts"
        title="Search and shortcuts (/)"
      >
        <Icon name="search" />
      </button>
      <button type="button" class="copy" onClick={signOut} aria-label="Sign out" title="Sign out">
        <Icon name="out" />
      </button>
      <span class={`live ${isLive.value && !isGone.value ? 'on' : ''}`}>
        {isLive.value && !isGone.value ? 'Live' : 'Not live'}
      </span>
    </div>
  </div>
);

export const Shell = ({ children }: { children: ComponentChildren }) => {
  const isMenuOpen = useSignal(false);
  useEffect(followEvents, []);
  useEffect(() => {
    document.querySelector('main')?.scrollTo(0, 0);
    isMenuOpen.value = false;
  }, [place.value]);
  return (
    <div class={`shell ${isMenuOpen.value ? 'menu-open' : ''}`}>
      <button type="button" class="skip" onClick={() => document.querySelector('main')?.focus()}>
        Skip to the page
      </button>
      <div class="topbar">
        <button
          type="button"
          class="copy"
          aria-label="Menu"
          aria-expanded={isMenuOpen.value}
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          <Icon name={isMenuOpen.value ? 'cross' : 'menu'} size={20} />
        </button>
        <Logo size={22} />
        <strong>Parley</strong>
      </div>
      <aside class="sidebar">
        <a class="brand" href={href([])}>
          <Logo />
          Parley
        </a>
        <Navigation />
        <Foot />
      </aside>
      <main id="main" tabIndex={-1}>
        {isGone.value && (
          <div class="gone" role="alert">
            <Icon name="dead" />
            <span>
              <strong>Parley does not answer.</strong> What you see is from before. This page goes on by itself when the
              server is back.
            </span>
          </div>
        )}
        <div class="page">{children}</div>
      </main>
      <Toasts />
      <Shortcuts />
    </div>
  );
};
