import type { Task, TimelineEntry } from '../api/types.ts';

export type SegmentKind = 'queued' | 'working' | 'asking' | 'delayed';

export interface Segment {
  kind: SegmentKind;
  from: number;
  /** Absent while it goes on. */
  to?: number;
  attempt: number;
  agent?: string;
}

export interface Mark {
  kind: string;
  at: number;
  attempt: number;
  text: string;
}

export interface Timeline {
  from: number;
  to?: number;
  /** One for each time that an agent held it, and for the wait before. */
  lanes: { attempt: number; agent?: string; segments: Segment[]; marks: Mark[] }[];
}

const ENDS = ['completed', 'failed', 'expired', 'cancelled'];

const describe = ({ event, agent, percent, message, error }: TimelineEntry): string =>
  [event.replaceAll('_', ' '), percent !== undefined && `${percent} %`, message, error?.code, agent && `by ${agent}`]
    .filter(Boolean)
    .join(' · ');

/** The picture of a task: what it waited for, who worked on it, and when. */
export const buildTimeline = (task: Task): Timeline => {
  const history = task.history ?? [];
  const lanes: Timeline['lanes'] = [{ attempt: 1, segments: [], marks: [] }];
  let open: Segment | undefined;
  const lane = () => lanes[lanes.length - 1] ?? { attempt: 1, segments: [], marks: [] };
  const close = (at: number): void => {
    if (open && open.to === undefined) open.to = at;
    open = undefined;
  };
  const begin = (kind: SegmentKind, at: number, agent?: string): void => {
    close(at);
    open = { kind, from: at, attempt: lane().attempt, ...(agent !== undefined && { agent }) };
    lane().segments.push(open);
  };
  history.forEach((entry, index) => {
    const at = Date.parse(entry.at);
    const { event, agent, error } = entry;
    if (event === 'claimed') {
      begin('working', at, agent);
      lane().attempt = entry.attempt ?? lane().attempt;
      if (agent !== undefined) lane().agent = agent;
    } else if (event === 'input_required') begin('asking', at, agent);
    else if (event === 'input_given') {
      const isRequeued =
        ['claimed', 'released'].includes(history[index + 1]?.event ?? '') || task.state === 'requested';
      begin(isRequeued ? 'queued' : 'working', at, agent);
    } else if (event === 'requested' || event === 'released' || event === 'ready') {
      if (index > 0 && lane().segments.some(({ kind }) => kind === 'working'))
        lanes.push({ attempt: (entry.attempt ?? lane().attempt) + (error ? 1 : 0), segments: [], marks: [] });
      begin(error ? 'delayed' : 'queued', at);
    } else if (ENDS.includes(event)) close(at);
    if (event !== 'requested')
      lane().marks.push({ kind: error ? 'failed' : event, at, attempt: lane().attempt, text: describe(entry) });
  });
  const last = history.at(-1);
  const isEnded = last !== undefined && ENDS.includes(last.event);
  return {
    from: Date.parse(task.createdAt),
    ...(isEnded && { to: Date.parse(last.at) }),
    lanes: lanes.filter(({ segments, marks }) => segments.length + marks.length > 0),
  };
};
