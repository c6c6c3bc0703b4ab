import { nap } from '../../ports/clock.ts';
import type { Lane, Outgoing, Queues, Received, ReceiveOptions } from '../../ports/queues.ts';
import { deleteFromLanes, receiveFromLane, releaseToLanes, type SqsLanes, sendToLanes } from './lane-queues.ts';
import { type LaneMemory, LanesInUseBook } from './lanes-in-use.ts';
import { addToLists, releaseToLists, removeFromLists, takeFromList } from './ready-list.ts';
import { together } from './together.ts';

/** One round of waiting asks every lane, for as long as the shortest long poll takes. */
const LONG_POLL_SECONDS = 1;
/** Where there are only lists to look at, a round is as long as this. */
const LIST_ROUND_MS = 250;

/** Domains' lanes and the relay's are FIFO queues; those of agents and capabilities, of which there may be any number, lists in the table. */
export const queuesOn = (sqs: SqsLanes, lists: LaneMemory): Queues => {
  const book = new LanesInUseBook(lists);
  const sendQueued = together((messages: Outgoing[]) => sendToLanes(sqs, messages));
  const queues: Queues = {
    send: async (messages) => {
      const [queued, listed] = parted(messages);
      await Promise.all([
        queued.length > 0 && sendQueued(queued),
        book.note(messages.map(({ lane }) => lane)),
        addToLists(lists, listed),
      ]);
    },
    receive: async (lanes, options) => {
      const until = sqs.clock.now() + options.waitMs;
      // The first round does not wait, so that what is there comes at once.
      for (let isWaiting = false; ; isWaiting = true) {
        const received = await receiveRound(lanes, options, isWaiting);
        if (options.signal?.aborted) {
          if (received.length > 0) await queues.release(received);
          return [];
        }
        if (received.length > 0 || sqs.clock.now() >= until) return received;
      }
    },
    delete: async (messages) => {
      const [queued, listed] = parted(messages);
      await Promise.all([deleteFromLanes(sqs, queued), removeFromLists(lists, listed)]);
    },
    release: async (messages) => {
      const [queued, listed] = parted(messages);
      await Promise.all([releaseToLanes(sqs, queued), releaseToLists(lists, listed)]);
    },
  };

  /**
   * The lists that come before any queue are looked at first: what they fill needs no queue. Then all the rest is asked at once;
   * the first lanes are taken from, and what is too much goes back.
   */
  const receiveRound = async (lanes: Lane[], options: ReceiveOptions, isWaiting: boolean): Promise<Received[]> => {
    const inUse = await book.inUse(lanes.filter((lane) => !isQueue(lane) || sqs.has(lane)));
    const firstQueue = inUse.findIndex(isQueue);
    const leading = firstQueue < 0 ? inUse : inUse.slice(0, firstQueue);
    const first = await receiveFrom(leading, options, false);
    if (first.length === options.max) return first;
    const rest = await receiveFrom(
      inUse.slice(leading.length),
      { ...options, max: options.max - first.length },
      isWaiting && first.length === 0,
    );
    return [...first, ...rest];
  };

  const receiveFrom = async (lanes: Lane[], options: ReceiveOptions, isWaiting: boolean): Promise<Received[]> => {
    const { max, visibilityMs, signal, leaves } = options;
    const asked = lanes.filter(isQueue);
    const waitSeconds = isWaiting ? LONG_POLL_SECONDS : 0;
    const byList = Map.groupBy(
      lanes.filter((lane) => !isQueue(lane)),
      ({ project, kind, name }) => `${project}/${kind}/${name}`,
    );
    // None of the receives is given up: what one finds after that would be hidden for nobody.
    const [outcomes] = await Promise.all([
      Promise.allSettled([
        ...[...byList.values()].map((own) => takeFromList(lists, own, options)),
        ...asked.map((lane) => receiveFromLane(sqs, lane, { max, waitSeconds, visibilityMs, leaves })),
      ]),
      isWaiting && asked.length === 0 ? nap(sqs.clock, LIST_ROUND_MS, signal).over : undefined,
    ]);
    const received = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    // What others brought is not lost for one that failed.
    if (failure && received.length === 0) throw failure.reason;
    const inOrder = received.toSorted((a, b) => lanes.indexOf(a.lane) - lanes.indexOf(b.lane));
    const surplus = inOrder.slice(max);
    if (surplus.length > 0) await queues.release(surplus);
    return inOrder.slice(0, max);
  };

  return queues;
};

const isQueue = ({ kind }: Lane): boolean => kind === 'domain' || kind === 'relay';

const parted = <T extends { lane: Lane }>(messages: T[]): [queued: T[], listed: T[]] => {
  const { queued = [], listed = [] } = Object.groupBy(messages, ({ lane }) => (isQueue(lane) ? 'queued' : 'listed'));
  return [queued, listed];
};
