import * as z from 'zod';
import { officeRef } from '../../agents/keys.ts';
import { asyncApi } from '../asyncapi.ts';
import { once } from '../once.ts';
import { openApi } from '../openapi.ts';
import { noBody, noQuery, openRoute, type Route, route } from '../route.ts';

/** What a program wants to know before its first call. */
export const systemRoutes = (all: () => readonly Route[]): Route[] => {
  const described = once(() => openApi(all()));
  const onNats = once(asyncApi);
  return [
    openRoute(
      {
        method: 'GET',
        path: '/healthz',
        summary: 'Whether the system is up and its storage answers',
        answers: { 200: { description: 'It is', schema: z.object({ status: z.literal('ok') }) } },
      },
      async (deps) => {
        await deps.records.get(officeRef('default', 'admin'));
        return { status: 200, body: { status: 'ok' } };
      },
    ),
    openRoute(
      {
        method: 'GET',
        path: '/openapi.json',
        summary: 'This API',
        answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({}) } },
      },
      async () => ({ status: 200, body: described() }),
    ),
    openRoute(
      {
        method: 'GET',
        path: '/asyncapi.json',
        summary: 'What stands on NATS: its subjects and their messages',
        answers: { 200: { description: 'AsyncAPI 3.0', schema: z.looseObject({}) } },
      },
      async () => ({ status: 200, body: await onNats() }),
    ),
    route({
      method: 'GET',
      path: '/v1/topics',
      summary: 'The domains that tasks can be sent to',
      query: noQuery,
      body: noBody,
      answers: {
        200: {
          description: 'The domains',
          schema: z.object({ domains: z.array(z.object({ name: z.string(), description: z.string() })) }),
        },
      },
      handle: async ({ deps, caller }) => {
        const domains = Object.entries(deps.config.projects[caller.project]?.domains ?? {});
        return { status: 200, body: { domains: domains.map(([name, { description }]) => ({ name, description })) } };
      },
    }),
  ];
};
