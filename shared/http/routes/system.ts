import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { ADMIN_KEY, apiKeyRef } from '../../identity/auth/api-key.ts';
import { buildAsyncApi } from '../asyncapi.ts';
import { buildOpenApi } from '../openapi.ts';
import { defineOpenRoute, defineRoute, type Route } from '../route.ts';
import { memoizeJson } from './schemas.ts';

const HealthView = z
  .object({
    status: z.literal('ok'),
    nats: z.enum(['connected', 'waiting']).optional().describe('the state of an embedded relay'),
  })
  .meta({ id: 'Health' });

const memoizeByConfig = (make: (config: Config) => object | Promise<object>) => {
  const described = new WeakMap<Config, () => Promise<Uint8Array>>();
  return (config: Config): Promise<Uint8Array> => {
    const made = described.get(config) ?? memoizeJson(() => make(config));
    described.set(config, made);
    return made();
  };
};

/** What a program wants to know before its first call. */
export const createSystemRoutes = (all: () => readonly Route[]): Route[] => {
  const getOpenApiJson = memoizeByConfig((config) => buildOpenApi(all(), config));
  const getAsyncApiJson = memoizeByConfig(buildAsyncApi);
  return [
    defineOpenRoute(
      {
        operationId: 'getHealth',
        method: 'GET',
        path: '/healthz',
        summary: 'Check whether Parley and its storage respond',
        responses: { 200: { description: 'Parley is up', schema: HealthView } },
      },
      async (deps) => {
        await deps.records.get(apiKeyRef('default', undefined, ADMIN_KEY));
        return { status: 200, body: { status: 'ok', nats: deps.natsState?.() } };
      },
    ),
    defineOpenRoute(
      {
        operationId: 'getOpenApi',
        method: 'GET',
        path: '/openapi.json',
        summary: 'Get this API as OpenAPI',
        responses: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({}) } },
      },
      async ({ config }) => ({ status: 200, json: await getOpenApiJson(config) }),
    ),
    defineOpenRoute(
      {
        operationId: 'getAsyncApi',
        method: 'GET',
        path: '/asyncapi.json',
        summary: 'Get the NATS subjects and their messages as AsyncAPI',
        responses: { 200: { description: 'AsyncAPI 3.0', schema: z.looseObject({}) } },
      },
      async ({ config }) => ({ status: 200, json: await getAsyncApiJson(config) }),
    ),
    defineRoute({
      operationId: 'listDomains',
      method: 'GET',
      path: '/v1/domains',
      summary: 'List the domains that tasks can be addressed to',
      responses: {
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
