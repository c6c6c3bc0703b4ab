import * as z from 'zod';
import { ConfiguredName } from '../../config/config.ts';
import { DEFAULT_PROJECT } from '../../identity/auth/keys.ts';
import type { Deps } from '../../identity/deps.ts';
import { listProjectRecords, type Project } from '../../identity/projects.ts';
import { ParleyError } from '../../kernel/errors.ts';
import { boundedRecord } from '../../kernel/json/bounded-schemas.ts';
import { toIso } from '../../ports/clock.ts';
import {
  assertProjectOperator,
  putProject,
  removeProject,
  rotateProjectKey,
} from '../../workflows/projects/manage-projects.ts';
import { defineKeyRoute, type Route, recordBodyLimit } from '../route.ts';

const MAX_DOMAINS = 256;

const ProjectView = z
  .object({
    name: z.string(),
    source: z.enum(['configuration', 'call']).describe('only those of calls can be changed and removed by calls'),
    domains: z.array(z.object({ name: z.string(), description: z.string() })),
    relay: z.boolean().describe('whether agents on NATS take part'),
    createdAt: z.iso.datetime().optional().describe('absent for those of the configuration'),
  })
  .meta({ id: 'Project' });

const ProjectKey = z
  .string()
  .describe('the key `owner` of the project, with the scope `admin`. Shown once: Parley stores only its hash');

const toProjectView = ({ config }: Deps, name: string, created?: Project): z.output<typeof ProjectView> => {
  const { domains = {}, relay = false } = config.projects[name] ?? {};
  return {
    name,
    source: created ? 'call' : 'configuration',
    domains: Object.entries(domains).map(([domain, { description }]) => ({ name: domain, description })),
    relay,
    createdAt: toIso(created?.createdAt),
  };
};

const parseName = (name = ''): string => {
  if (ConfiguredName.safeParse(name).success) return name;
  throw new ParleyError('invalid_request', `"${name}" is no name of a project: 1 to 32 of a-z, 0-9 and -.`);
};

const responses = {
  404: { description: 'No such project' },
  409: { description: '`project_configured`: the configuration has the project, or all projects of the deployment' },
};

export const projectRoutes: Route[] = [
  defineKeyRoute({
    operationId: 'listProjects',
    method: 'GET',
    path: '/v1/projects',
    summary: `List the projects by name. Keys of other projects than \`${DEFAULT_PROJECT}\` see their own`,
    access: 'admin',
    responses: { 200: { description: 'The projects', schema: z.object({ projects: z.array(ProjectView) }) } },
    handle: async ({ deps, caller }) => {
      const created = deps.projects ? await listProjectRecords(deps.records) : [];
      const byName = new Map(
        created.filter(({ name }) => !deps.projects?.isConfigured(name)).map((one) => [one.name, one]),
      );
      const names = Object.keys(deps.config.projects).sort();
      const visible = names.filter((name) => caller.project === DEFAULT_PROJECT || name === caller.project);
      return { status: 200, body: { projects: visible.map((name) => toProjectView(deps, name, byName.get(name))) } };
    },
  }),
  defineKeyRoute({
    operationId: 'putProject',
    method: 'PUT',
    path: '/v1/projects/{name}',
    summary: `Create a project, or change its domains. With an admin key of the project \`${DEFAULT_PROJECT}\`, on one machine`,
    access: 'admin',
    bodyBytes: recordBodyLimit,
    query: z.strictObject({
      inherit: z
        .enum(['true', 'false'])
        .default('false')
        .describe('`true`: the project has what is still stored of the removed project with this name'),
    }),
    body: z.strictObject({
      domains: boundedRecord(
        ConfiguredName,
        z.strictObject({ description: z.string().max(1024).describe('shown to agents that list the domains') }),
        { max: MAX_DOMAINS },
      ).describe('all domains that tasks of the project can be addressed to'),
    }),
    responses: {
      200: { description: 'Changed', schema: z.object({ project: ProjectView }) },
      201: { description: 'Created', schema: z.object({ project: ProjectView, key: ProjectKey }) },
      409: {
        description:
          '`project_configured`: the configuration has the project, or all projects of the deployment. `project_removed`: data of a removed project with this name is still stored',
      },
    },
    handle: async ({ deps, caller, params, query, body }) => {
      assertProjectOperator(caller);
      const name = parseName(params.name);
      const { project, key } = await putProject(deps, { name, ...body, inherit: query.inherit === 'true' });
      return { status: key ? 201 : 200, body: { project: toProjectView(deps, name, project), key } };
    },
  }),
  defineKeyRoute({
    operationId: 'rotateProjectKey',
    method: 'POST',
    path: '/v1/projects/{name}/key',
    summary: 'Replace the key `owner` of a project that a call created. The earlier one stops working at once',
    unrepeatable: 'its answer is a secret, which is not kept.',
    access: 'admin',
    responses: { 200: { description: 'The new key', schema: z.object({ key: ProjectKey }) }, ...responses },
    handle: async ({ deps, caller, params }) => {
      assertProjectOperator(caller);
      return { status: 200, body: { key: await rotateProjectKey(deps, parseName(params.name)) } };
    },
  }),
  defineKeyRoute({
    operationId: 'removeProject',
    method: 'DELETE',
    path: '/v1/projects/{name}',
    summary: 'Remove a project that a call created and that is empty. Its keys stop working at once',
    access: 'admin',
    responses: {
      204: { description: 'Removed' },
      404: responses[404],
      409: {
        description:
          '`project_not_empty`: it has agents, tools, webhooks, schedules or open work. `project_configured`: the configuration has it',
      },
    },
    handle: async ({ deps, caller, params }) => {
      assertProjectOperator(caller);
      await removeProject(deps, caller, parseName(params.name));
      return { status: 204 };
    },
  }),
];
