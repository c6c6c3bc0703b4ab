import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons.tsx';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  isWide?: boolean;
}

/** The browser keeps the focus inside and closes it with Escape. */
export const Dialog = ({ title, onClose, children, isWide = false }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The browser would begin with the button that closes it.
    dialog?.querySelector<HTMLElement>('input, select, textarea, .primary')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="copy" aria-label="Close" onClick={onClose}>
            <Icon name="cross" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
};
