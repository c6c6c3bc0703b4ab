import type { ComponentChildren } from 'preact';
import type { Paged } from '../state/pages.ts';
import { Button, Loading, ProblemNote } from './basics.tsx';
import { Card } from './page.tsx';

export interface Column<T> {
  label: string;
  isNumber?: boolean;
  show: (item: T) => ComponentChildren;
}

interface TableProps<T> {
  from: Paged<T>;
  columns: Column<T>[];
  keyOf: (item: T) => string;
  empty: ComponentChildren;
}

/** A table of what a list call gives. */
export const Table = <T,>({ from, columns, keyOf, empty }: TableProps<T>) => {
  const { data, problem, hasMore, loadMore, reload } = from;
  const items = data.value;
  return (
    <>
      {problem.value && <ProblemNote problem={problem.value} onRetry={reload} />}
      <Card isFlush>
        {!items && !problem.value && <Loading />}
        {items?.length === 0 && !hasMore.value && empty}
        {items && items.length > 0 && (
          <div class="scroll-x">
            <table>
              <thead>
                <tr>
                  {columns.map(({ label, isNumber }) => (
                    <th key={label} class={isNumber ? 'num' : ''}>
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.map((item) => (
                  <tr key={keyOf(item)}>
                    {columns.map(({ label, isNumber, show }) => (
                      <td key={label} class={isNumber ? 'num' : ''}>
                        {show(item)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {hasMore.value && (
          <div class="more">
            <Button onClick={loadMore}>Show more</Button>
          </div>
        )}
      </Card>
    </>
  );
};
