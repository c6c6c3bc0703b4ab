import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface VirtualListProps<T> {
  items: readonly T[];
  rowHeight: number;
  label: string;
  keyOf: (item: T) => string;
  renderRow: (item: T, index: number) => ComponentChildren;
  /** Called near the end of what is there. */
  onEnd?: () => void;
  onTop?: (isTop: boolean) => void;
  onOpen?: (item: T) => void;
  onMark?: (item: T) => void;
  header?: ComponentChildren;
}

const OVERSCAN = 8;

/** Draws only the rows in sight: a hundred thousand are as fast as a hundred. Arrows or j and k move, Enter opens. */
export const VirtualList = <T,>({ items, rowHeight, label, keyOf, renderRow, ...on }: VirtualListProps<T>) => {
  const element = useRef<HTMLDivElement>(null);
  const from = useSignal(0);
  const visible = useSignal(30);
  const focused = useSignal(-1);
  const { onEnd, onTop, onOpen, onMark, header } = on;
  const measure = (): void => {
    const box = element.current;
    if (!box) return;
    from.value = Math.max(0, Math.floor(box.scrollTop / rowHeight) - OVERSCAN);
    visible.value = Math.ceil(box.clientHeight / rowHeight) + 2 * OVERSCAN;
    onTop?.(box.scrollTop < rowHeight / 2);
    if (box.scrollTop + 3 * box.clientHeight > items.length * rowHeight) onEnd?.();
  };
  useEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, [items.length, rowHeight]);
  const move = (by: number): void => {
    const box = element.current;
    if (!box || items.length === 0) return;
    focused.value = Math.min(items.length - 1, Math.max(0, focused.value + by));
    const top = focused.value * rowHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + rowHeight > box.scrollTop + box.clientHeight - rowHeight)
      box.scrollTop = top + 2 * rowHeight - box.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== element.current) return;
    const page = Math.max(1, visible.value - 2 * OVERSCAN - 1);
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page };
    const by = steps[event.key];
    const item = items[focused.value];
    if (by !== undefined) move(by);
    else if (event.key === 'Enter' && item !== undefined) onOpen?.(item);
    else if (event.key === ' ' && item !== undefined) onMark?.(item);
    else return;
    event.preventDefault();
  };
  const last = Math.min(items.length, from.value + visible.value);
  return (
    <div
      class="list"
      ref={element}
      role="grid"
      aria-label={label}
      aria-rowcount={items.length}
      tabIndex={0}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      {header}
      <div class="list-body" role="rowgroup" style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(from.value, last).map((item, offset) => {
          const index = from.value + offset;
          return (
            // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus
            <div
              key={keyOf(item)}
              role="row"
              aria-rowindex={index + 1}
              class={`row ${focused.value === index ? 'focused' : ''}`}
              style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
            >
              {renderRow(item, index)}
            </div>
          );
        })}
      </div>
    </div>
  );
};
