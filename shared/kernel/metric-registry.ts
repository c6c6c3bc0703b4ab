import { formatMetricHeader, METRICS, type MetricLabels, type MetricName, type MetricSpec } from './metrics.ts';

interface Series {
  labels: MetricLabels;
  /** Of a histogram the sum. */
  value: number;
  count: number;
  /** How many values are at most each bound. */
  buckets: number[];
}

/** Of one metric; what is beyond is not kept. */
const MAX_SERIES = 10_000;

/** Brings gauges of a project up to date before they are shown. */
export type Collector = (project: string) => Promise<void>;

/** What this process has measured since it began. */
export class MetricRegistry {
  readonly #series = new Map<MetricName, Map<string, Series>>();
  readonly #collectors: Collector[] = [];

  addCollector(collector: Collector): void {
    this.#collectors.push(collector);
  }

  record(name: MetricName, value: number, labels: MetricLabels): void {
    const { type, buckets = [] }: MetricSpec = METRICS[name];
    const series = this.#getSeries(name, labels, buckets.length);
    if (!series) return;
    if (type === 'gauge') series.value = value;
    else series.value += value;
    series.count += 1;
    for (let at = buckets.length - 1; at >= 0 && value <= (buckets[at] ?? 0); at--) {
      series.buckets[at] = (series.buckets[at] ?? 0) + 1;
    }
  }

  /** Whose gauge it is, and what that shows. */
  listValues(name: MetricName, project: string): [labels: MetricLabels, value: number][] {
    return this.#listSeries(name, project).map(({ labels, value }) => [labels, value]);
  }

  /** What nobody need be shown any more. */
  remove(name: MetricName, labels: MetricLabels): void {
    this.#series.get(name)?.delete(toKey(labels));
  }

  /** What a project may see, in the text format of Prometheus. */
  async toPrometheus(project: string): Promise<string> {
    for (const collect of this.#collectors) await collect(project);
    const lines = METRIC_NAMES.flatMap((name) => {
      const { type, help }: MetricSpec = METRICS[name];
      const series = this.#listSeries(name, project);
      return [...formatMetricHeader(name, type, help), ...series.flatMap((one) => formatSeries(name, one))];
    });
    return `${lines.join('\n')}\n`;
  }

  #listSeries(name: MetricName, project: string): Series[] {
    return [...(this.#series.get(name)?.values() ?? [])].filter(({ labels }) => labels.project === project);
  }

  #getSeries(name: MetricName, labels: MetricLabels, buckets: number): Series | undefined {
    const all = this.#series.get(name) ?? new Map<string, Series>();
    this.#series.set(name, all);
    const key = toKey(labels);
    const known = all.get(key);
    if (known || all.size >= MAX_SERIES) return known;
    const made: Series = { labels, value: 0, count: 0, buckets: Array.from({ length: buckets }, () => 0) };
    all.set(key, made);
    return made;
  }
}

const isMetricName = (name: string): name is MetricName => Object.hasOwn(METRICS, name);
const METRIC_NAMES = Object.keys(METRICS).filter(isMetricName);

const toKey = ({ project, agent = '', queue = '', code = '' }: MetricLabels): string =>
  `${project}/${agent}/${code}/${queue}`;

const formatSeries = (name: MetricName, { labels, value, count, buckets }: Series): string[] => {
  const { type, buckets: bounds = [] }: MetricSpec = METRICS[name];
  if (type !== 'histogram') return [`${name}${formatLabels(labels)} ${value}`];
  return [
    ...bounds.map((bound, at) => `${name}_bucket${formatLabels({ ...labels, le: bound })} ${buckets[at] ?? 0}`),
    `${name}_bucket${formatLabels({ ...labels, le: '+Inf' })} ${count}`,
    `${name}_sum${formatLabels(labels)} ${value}`,
    `${name}_count${formatLabels(labels)} ${count}`,
  ];
};

/** As the text format wants it. */
const escapeLabel = (value: unknown): string =>
  String(value).replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));

const formatLabels = (labels: object): string =>
  `{${Object.entries(labels)
    .filter(([, value]) => value !== undefined)
    .map(([label, value]) => `${label}="${escapeLabel(value)}"`)
    .join(',')}}`;
