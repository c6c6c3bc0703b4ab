import { ParleyError } from '../../kernel/errors.ts';
import { defineRoute, type Route } from '../route.ts';

const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';

export const metricRoutes: Route[] = [
  defineRoute({
    operationId: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    summary: 'Get the metrics of the project in the text format of Prometheus. On AWS they are in CloudWatch instead',
    responses: {
      200: { description: 'What this process has measured since its start', otherType: 'text/plain' },
      404: { description: 'The metrics of this deployment are in CloudWatch' },
    },
    handle: async ({ deps: { metrics }, caller: { project } }) => {
      if (!metrics)
        throw new ParleyError(
          'not_found',
          'The metrics are in CloudWatch, in the namespace Parley, under the same names.',
        );
      return { status: 200, file: { type: TEXT_FORMAT, bytes: Buffer.from(await metrics.toPrometheus(project)) } };
    },
  }),
];
