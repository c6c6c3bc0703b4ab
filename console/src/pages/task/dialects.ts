import { get } from '../../api/call.ts';
import { useResource } from '../../state/resource.ts';

interface OpenApi {
  paths: Record<string, Record<string, { requestBody?: { content?: Record<string, { schema?: Described }> } }>>;
}
interface Described {
  properties?: Record<string, { enum?: string[] }>;
}

/** As the API itself names them. */
export const useDialects = (): string[] => {
  const { data } = useResource('dialects', async (abort) => {
    const { paths } = await get<OpenApi>('openapi.json', {}, abort);
    const schema = paths['/v1/agents/{id}']?.put?.requestBody?.content?.['application/json']?.schema;
    return schema?.properties?.dialect?.enum ?? [];
  });
  return data.value ?? [];
};
