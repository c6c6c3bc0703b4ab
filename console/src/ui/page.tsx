import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Resource } from '../state/resource.ts';
import { Loading, ProblemNote } from './basics.tsx';

interface PageProps {
  title: ComponentChildren;
  /** Of the tab of the browser. */
  name: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export const Page = ({ title, name, lead, actions, children }: PageProps) => {
  useEffect(() => {
    document.title = `${name} · Parley`;
  }, [name]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
};

interface CardProps {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
  isFlush?: boolean;
  class?: string;
}

export const Card = ({ title, aside, children, isFlush = false, class: more = '' }: CardProps) => (
  <section class={`card ${isFlush ? 'flush' : ''} ${more}`}>
    {(title || aside) && (
      <div class="card-head">
        {title && <h2>{title}</h2>}
        {aside && <div class="aside">{aside}</div>}
      </div>
    )}
    {children}
  </section>
);

/** What was loaded, what went wrong, or that it is on its way. */
export const Loaded = <T,>({ from, children }: { from: Resource<T>; children: (data: T) => ComponentChildren }) => {
  const { data, problem, reload } = from;
  return (
    <>
      {problem.value && <ProblemNote problem={problem.value} onRetry={reload} />}
      {data.value === undefined ? !problem.value && <Loading /> : children(data.value)}
    </>
  );
};

export const Facts = ({ rows }: { rows: [label: string, value: ComponentChildren][] }) => (
  <dl class="facts">
    {rows
      .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
      .map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);
