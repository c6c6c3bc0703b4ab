import { Dashboard, GraphWidget, type IMetric, type IWidget, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { DEFAULT_ROUTE_TO, ROUTES } from '../functions.ts';
import {
  automatic,
  givenUp,
  iteratorAge,
  oldestDeadLetters,
  relayDeadLetters,
  streamNotRead,
  tableFaults,
  together,
  type Watched,
} from './metrics.ts';
import {
  changesDispatched,
  dueSwept,
  eventsNotAnnounced,
  evictions,
  inboxDepth,
  readLatency,
  taskCounts,
  writeLatency,
} from './own-metrics.ts';
import { PERIOD } from './period.ts';

const graph = (title: string, left: IMetric[], right: IMetric[] = []): IWidget =>
  new GraphWidget({ title, left, right, width: 8, height: 6, period: PERIOD });

/** The way of a task from left to right and from top to bottom: calls, functions, lanes, stream, timers. */
export const dashboard = (scope: Construct, stage: string, watched: Watched): Dashboard => {
  const { functions, lanes, delay, api } = watched;
  const ofFunctions = (names: typeof automatic, metric: string, statistic: string): IMetric[] =>
    names.map((name) => functions[name].lambda.metric(metric, { period: PERIOD, statistic, label: name }));
  const behindHttp = automatic.filter((name) => name === DEFAULT_ROUTE_TO || ROUTES.some(({ to }) => to === name));
  const all = [...lanes.lanes, ...lanes.relay];
  const waiting = all.map(({ queue, suffix }) =>
    queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, statistic: Stats.MAXIMUM, label: suffix }),
  );
  const oldest = all.map(({ queue, suffix }) =>
    queue.metricApproximateAgeOfOldestMessage({ period: PERIOD, statistic: Stats.MAXIMUM, label: suffix }),
  );
  return new Dashboard(scope, 'Dashboard', {
    dashboardName: `parley-${stage}`,
    widgets: [
      [
        graph('Calls', [api.metricCount({ period: PERIOD })], [api.metricClientError(), api.metricServerError()]),
        graph('Answer time, 99th percentile (ms)', [api.metricLatency({ statistic: Stats.percentile(99) })]),
        graph('Running at once', ofFunctions(behindHttp, 'ConcurrentExecutions', Stats.MAXIMUM)),
      ],
      [
        graph('Duration, 99th percentile (ms)', ofFunctions(automatic, 'Duration', Stats.percentile(99))),
        graph('Errors', ofFunctions(automatic, 'Errors', Stats.SUM)),
        graph('Throttles', ofFunctions(automatic, 'Throttles', Stats.SUM)),
      ],
      [
        graph('Waiting in lanes', waiting),
        graph('Oldest in lanes (s)', oldest),
        graph('Oldest dead letter (s)', together('MAX', 'lanes', oldestDeadLetters(watched)), [
          delay.deadLetters.metricApproximateNumberOfMessagesVisible({ label: 'timers (number)' }),
          ...relayDeadLetters(watched),
        ]),
      ],
      [
        graph('Stream age (ms)', [iteratorAge(watched)], givenUp(watched)),
        graph('Timers', [
          functions.sweep.lambda.metricInvocations({ label: 'sweeps' }),
          delay.queue.metricNumberOfMessagesReceived({ label: 'fired' }),
          dueSwept(stage),
        ]),
        graph('Stream not read', [streamNotRead(watched)], [changesDispatched(stage)]),
      ],
      [
        graph('Tasks', taskCounts(stage)),
        graph('Events not announced', together('SUM', 'events', eventsNotAnnounced(stage))),
        graph('Table: throttled and failed calls', tableFaults(watched)),
      ],
      [
        graph('Message routing: writes and reads (ms)', [writeLatency(stage), readLatency(stage)]),
        graph('Message routing: fullest inbox', [inboxDepth(stage)]),
        graph('Message routing: evictions', [evictions(stage)]),
      ],
    ],
  });
};
