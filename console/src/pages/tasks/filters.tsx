import { useSignal } from '@preact/signals';
import { params, setParams } from '../../state/router.ts';
import { Button } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { useKnownNames } from './known-names.ts';
import type { Filter } from './task-pages.ts';

const STATES: [label: string, status: string][] = [
  ['All', ''],
  ['Queued', 'waiting,requested'],
  ['Running', 'claimed,in_progress'],
  ['Needs input', 'input_required'],
  ['Completed', 'completed'],
  ['Failed', 'failed,expired'],
  ['Cancelled', 'cancelled'],
];

const FIELDS: [name: string, label: string, list?: 'agents' | 'capabilities'][] = [
  ['type', 'Capability', 'capabilities'],
  ['agent', 'Any agent', 'agents'],
  ['requester', 'Requester', 'agents'],
  ['holder', 'Holder', 'agents'],
  ['domain', 'Domain'],
  ['conversation', 'Conversation'],
  ['error', 'Error code'],
];

const AGES: [label: string, ago: string][] = [
  ['Any time', ''],
  ['Last 15 minutes', '15m'],
  ['Last hour', '1h'],
  ['Last day', '24h'],
  ['Last week', '168h'],
];

const NAMES = ['status', 'idPrefix', 'retrying', ...FIELDS.map(([name]) => name)];

/** What `GET /v1/tasks` takes, from the address. A relative time stays relative in the address. */
export const readFilter = (query: URLSearchParams): Filter => {
  const filter: Filter = {};
  for (const name of NAMES) {
    const value = query.get(name);
    if (value) filter[name] = value;
  }
  const [, count, unit] = /^(\d+)([mh])$/.exec(query.get('ago') ?? '') ?? [];
  if (count !== undefined) {
    // To the minute, so that it is the same filter for a while.
    const since = Math.floor(Date.now() / 60_000 - Number(count) * (unit === 'h' ? 60 : 1)) * 60_000;
    filter.since = new Date(since).toISOString();
  }
  return filter;
};

const TYPING_MS = 250;
let typing: ReturnType<typeof setTimeout> | undefined;
const setSoon = (name: string, value: string): void => {
  clearTimeout(typing);
  typing = setTimeout(() => setParams({ [name]: value.trim() }), TYPING_MS);
};

export const Filters = () => {
  const query = params.value;
  const used = FIELDS.filter(([name]) => query.get(name)).length;
  const isOpen = useSignal(used > 0);
  const names = useKnownNames();
  const isFiltered = [...NAMES, 'ago'].some((name) => query.get(name));
  return (
    <search class="filters">
      <div class="tabs" role="group" aria-label="State">
        {STATES.map(([label, status]) => (
          <button
            key={label}
            type="button"
            aria-pressed={(query.get('status') ?? '') === status}
            onClick={() => setParams({ status })}
          >
            {label}
          </button>
        ))}
      </div>
      <div class="filter-line">
        <label class="find small">
          <Icon name="search" />
          <input
            aria-label="Beginning of the id"
            placeholder="Beginning of the id"
            key={query.get('idPrefix') === null ? 'none' : 'some'}
            defaultValue={query.get('idPrefix') ?? ''}
            onInput={(event) => setSoon('idPrefix', event.currentTarget.value)}
          />
        </label>
        <select
          aria-label="Created"
          value={query.get('ago') ?? ''}
          onChange={(event) => setParams({ ago: event.currentTarget.value })}
        >
          {AGES.map(([label, ago]) => (
            <option key={ago} value={ago}>
              {label}
            </option>
          ))}
        </select>
        <label class="check">
          <input
            type="checkbox"
            checked={query.get('retrying') === 'true'}
            onChange={(event) => setParams({ retrying: event.currentTarget.checked ? 'true' : '' })}
          />
          Retrying
        </label>
        <Button onClick={() => (isOpen.value = !isOpen.value)}>{used > 0 ? `Filters (${used})` : 'Filters'}</Button>
        {isFiltered && (
          <Button
            icon="cross"
            onClick={() => setParams(Object.fromEntries([...NAMES, 'ago'].map((name) => [name, ''])))}
          >
            Clear
          </Button>
        )}
      </div>
      {isOpen.value && (
        <div class="fields">
          {FIELDS.map(([name, label, list]) => (
            <label key={name}>
              {label}
              <input
                list={list && `known-${list}`}
                key={query.get(name) === null ? 'none' : 'some'}
                defaultValue={query.get(name) ?? ''}
                onInput={(event) => setSoon(name, event.currentTarget.value)}
              />
            </label>
          ))}
          {Object.entries(names).map(([list, values]) => (
            <datalist key={list} id={`known-${list}`}>
              {values.map((value) => (
                <option key={value} value={value} />
              ))}
            </datalist>
          ))}
        </div>
      )}
    </search>
  );
};
