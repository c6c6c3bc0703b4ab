import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Problem } from '../api/problem.ts';
import { formatExact, formatRelative, shorten } from '../model/format.ts';
import { type Tone, toLabel, toTone } from '../model/task-state.ts';
import { now } from '../state/clock.ts';
import { Icon, type IconName } from './icons.tsx';

export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

export const StateBadge = ({ state }: { state: string }) => (
  <Badge tone={toTone(state)}>
    <span class="dot" />
    {toLabel(state)}
  </Badge>
);

/** Relative, with the exact time on hover. */
export const Time = ({ at }: { at: string | number | undefined }) => {
  if (at === undefined) return <span class="muted">–</span>;
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(ms).toISOString()} title={formatExact(ms)}>
      {formatRelative(ms, now.value)}
    </time>
  );
};

export const CopyButton = ({ text, label = 'Copy' }: { text: string; label?: string }) => {
  const isCopied = useSignal(false);
  const copy = async (event: Event): Promise<void> => {
    event.preventDefault();
    event.stopPropagation();
    await copyText(text);
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, 1200);
  };
  return (
    <button type="button" class="copy" title={label} aria-label={label} onClick={copy}>
      <Icon name={isCopied.value ? 'check' : 'copy'} size={14} />
    </button>
  );
};

/** The clipboard of the browser is there only over TLS and on this machine. */
const copyText = async (text: string): Promise<void> => {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text).catch(() => {});
    return;
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
};

export const Id = ({ id, to, isLong = false }: { id: string; to?: string; isLong?: boolean }) => (
  <span class="id">
    {to === undefined ? (
      <code title={id}>{isLong ? id : shorten(id)}</code>
    ) : (
      <a href={to} title={id}>
        <code>{isLong ? id : shorten(id)}</code>
      </a>
    )}
    <CopyButton text={id} label={`Copy ${id}`} />
  </span>
);

interface ButtonProps {
  children: ComponentChildren;
  onClick?: () => unknown;
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'danger';
  isDisabled?: boolean;
  type?: 'button' | 'submit';
  title?: string;
}

export const Button = ({
  children,
  onClick,
  icon,
  kind = 'plain',
  isDisabled,
  type = 'button',
  title,
}: ButtonProps) => {
  const isBusy = useSignal(false);
  const click = async (): Promise<void> => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      await onClick?.();
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <button
      type={type}
      class={`button ${kind}`}
      title={title}
      disabled={isDisabled === true || isBusy.value}
      onClick={onClick && click}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
};

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
  icon?: IconName;
}

/** Nothing is there, and what to do about that. */
export const Empty = ({ title, children, icon = 'check' }: EmptyProps) => (
  <div class="empty">
    <Icon name={icon} size={20} />
    <h3>{title}</h3>
    {children && <p>{children}</p>}
  </div>
);

const ADVICE: Record<string, string> = {
  forbidden: 'The key of this tab may not do this. Sign in with another key.',
  insufficient_scope: 'The key of this tab may not do this. Sign in with another key.',
  overloaded: 'The server is busy; it is asked again.',
};

export const ProblemNote = ({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) => (
  <div class="note bad" role="alert">
    <Icon name="dead" />
    <div>
      <p>{problem.message}</p>
      <p class="small">
        <code>{problem.code}</code> {ADVICE[problem.code]}
        {problem.issues.map(({ path, message }) => (
          <span key={path}>
            {' '}
            · {path} {message}
          </span>
        ))}
      </p>
    </div>
    {onRetry && <Button onClick={onRetry}>Try again</Button>}
  </div>
);

export const Loading = () => (
  <div class="loading" aria-busy="true">
    <span class="bone" />
    <span class="bone" />
    <span class="bone" />
  </div>
);
