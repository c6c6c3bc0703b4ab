import * as z from 'zod';
import { resolveActor } from '../../identity/auth/authenticate.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { jsonValue } from '../../kernel/json/parse-or-throw.ts';
import { STEP_NAME, STEP_NAME_RULE } from '../../model/step.ts';
import { putStep } from '../../tasks/commands/put-step.ts';
import { getStepValue } from '../../tasks/queries/get-step.ts';
import { defineRoute, largeBodyLimit, type Route, type RouteCall } from '../route.ts';
import { onBehalfOf } from './common-fields.ts';
import { resolveTaskId } from './resolve-task-id.ts';

const getStepName = ({ params }: Pick<RouteCall, 'params'>): string => {
  const { name = '' } = params;
  if (STEP_NAME.test(name)) return name;
  throw new ParleyError('invalid_request', `The name of a step ${STEP_NAME_RULE}.`);
};

const notFound = { 404: { description: 'No such task or step' } };

export const stepRoutes: Route[] = [
  defineRoute({
    operationId: 'putStep',
    method: 'PUT',
    path: '/v1/tasks/{id}/steps/{name}',
    summary: 'Keep the result of a step with the task. The first value of a name stays, and the lease is renewed',
    bodyBytes: largeBodyLimit,
    body: z.strictObject({ value: jsonValue, attempt: z.number().int().min(1).optional(), agent: onBehalfOf }),
    responses: {
      200: {
        description: 'The value that is kept',
        schema: z.object({
          value: jsonValue,
          duplicate: z.boolean().describe('whether the step had a value before'),
        }),
      },
      404: { description: 'No such task' },
      409: { description: 'The caller does not hold the task' },
    },
    handle: async ({ deps, caller, body, ...call }) => {
      const holder = await resolveActor(deps, caller, body.agent);
      const id = await resolveTaskId(deps, caller, call);
      const { value, attempt } = body;
      return { status: 200, body: await putStep(deps, holder, id, { name: getStepName(call), value, attempt }) };
    },
  }),
  defineRoute({
    operationId: 'getStep',
    method: 'GET',
    path: '/v1/tasks/{id}/steps/{name}',
    summary: 'Get the result of a step',
    responses: { 200: { description: 'The value', schema: z.object({ value: jsonValue }) }, ...notFound },
    handle: async ({ deps, caller, ...call }) => ({
      status: 200,
      body: { value: await getStepValue(deps, caller, await resolveTaskId(deps, caller, call), getStepName(call)) },
    }),
  }),
];
