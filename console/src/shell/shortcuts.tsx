import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get } from '../api/call.ts';
import type { Task } from '../api/types.ts';
import { go, href } from '../state/router.ts';
import { StateBadge } from '../ui/basics.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { DESTINATIONS } from './navigation.ts';

export const isPaletteOpen = signal(false);

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable);

const ALL = DESTINATIONS.flat();
const GO_MS = 1000;
const SEARCH_MS = 150;

const useShortcuts = (): void => {
  useEffect(() => {
    let pressedG = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
        event.preventDefault();
        isPaletteOpen.value = true;
        return;
      }
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]'))
        return;
      if (Date.now() - pressedG < GO_MS) {
        const found = ALL.find(({ letter }) => letter === event.key);
        if (found) go(href([found.path].filter(Boolean)));
        pressedG = 0;
      } else if (event.key === 'g') pressedG = Date.now();
      else if (event.key === '/' || event.key === '?') {
        event.preventDefault();
        isPaletteOpen.value = true;
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
};

export const Shortcuts = () => {
  useShortcuts();
  return isPaletteOpen.value ? <Palette /> : null;
};

const Palette = () => {
  const text = useSignal('');
  const chosen = useSignal(0);
  const tasks = useSignal<Task[]>([]);
  const wanted = text.value.trim();
  useEffect(() => {
    tasks.value = [];
    if (wanted.length < 2) return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const page = await get<{ tasks: Task[] }>('v1/tasks', { idPrefix: wanted, limit: 6 }, abort.signal).catch(
        () => undefined,
      );
      if (page) tasks.value = page.tasks;
    }, SEARCH_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted, tasks]);
  const pages = ALL.filter(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()));
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const targets = [
    ...tasks.value.map(({ id }) => href(['tasks', id])),
    ...pages.map(({ path }) => href([path].filter(Boolean))),
  ];
  const open = (index: number): void => {
    const target = targets[index];
    if (target === undefined) return;
    close();
    go(target);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') chosen.value = Math.min(targets.length - 1, chosen.value + 1);
    else if (event.key === 'ArrowUp') chosen.value = Math.max(0, chosen.value - 1);
    else if (event.key === 'Enter') open(chosen.value);
    else return;
    event.preventDefault();
  };
  const optionAt = (index: number) => ({
    class: `option ${chosen.value === index ? 'chosen' : ''}`,
    onClick: () => open(index),
    type: 'button' as const,
  });
  return (
    <Dialog title="Find" onClose={close}>
      <div class="find">
        <Icon name="search" />
        <input
          autofocus
          aria-label="A page, or the beginning of a task's id"
          placeholder="A page, or the beginning of a task's id"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            chosen.value = 0;
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div class="options">
        {tasks.value.map((task, index) => (
          <button key={task.id} {...optionAt(index)}>
            <StateBadge state={task.state} />
            <code>{task.id}</code>
            <span class="muted grow">{task.type}</span>
          </button>
        ))}
        {pages.map(({ path, label, icon, letter }, index) => (
          <button key={path} {...optionAt(tasks.value.length + index)}>
            <Icon name={icon} />
            <span class="grow">{label}</span>
            <span class="keys">
              <kbd>g</kbd> <kbd>{letter}</kbd>
            </span>
          </button>
        ))}
        {targets.length === 0 && <p class="muted pad">No page, and no task whose id begins so.</p>}
      </div>
      <p class="muted small">
        <kbd>/</kbd> finds · <kbd>g</kbd> and a letter goes to a page · in a list <kbd>j</kbd> <kbd>k</kbd> move,{' '}
        <kbd>space</kbd> marks, <kbd>Enter</kbd> opens
      </p>
    </Dialog>
  );
};
