import * as z from 'zod';
import { ParleyError } from '../../kernel/errors.ts';
import { buildArtifactUri, decodeArtifact, loadArtifact } from '../../tasks/artifacts.ts';
import { getTask } from '../../tasks/queries/get-task.ts';
import { defineRoute, type Route } from '../route.ts';
import { resolveTaskId } from './resolve-task-id.ts';

const Artifacts = z
  .object({
    artifacts: z.array(z.looseObject({ name: z.string(), type: z.string(), bytes: z.number(), uri: z.string() })),
  })
  .meta({ id: 'Artifacts' });

export const artifactRoutes: Route[] = [
  defineRoute({
    operationId: 'listArtifacts',
    method: 'GET',
    path: '/v1/tasks/{id}/artifacts',
    summary: 'List the artifacts of a task',
    responses: {
      200: { description: 'The artifacts without their content', schema: Artifacts },
      404: { description: 'No such task' },
    },
    handle: async ({ deps, caller, ...call }) => {
      const { task } = await getTask(deps, caller, await resolveTaskId(deps, caller, call));
      const artifacts = task.artifacts?.index ?? [];
      return {
        status: 200,
        body: { artifacts: artifacts.map((entry) => ({ ...entry, uri: buildArtifactUri(task.id, entry.name) })) },
      };
    },
  }),
  defineRoute({
    operationId: 'getArtifact',
    method: 'GET',
    path: '/v1/tasks/{id}/artifacts/{name}',
    summary: 'Download an artifact with its own media type',
    responses: {
      200: { description: 'The artifact', otherType: '*/*' },
      404: { description: 'No such task or artifact' },
    },
    handle: async ({ deps, caller, ...call }) => {
      const { task } = await getTask(deps, caller, await resolveTaskId(deps, caller, call));
      const { name } = call.params;
      const artifact = task.artifacts && (await loadArtifact(deps.blobs, task.project, task.artifacts, name));
      if (!artifact) throw new ParleyError('not_found', `The task ${task.id} has no artifact ${name}.`);
      return { status: 200, file: { type: artifact.type, bytes: decodeArtifact(artifact) } };
    },
  }),
];
