import type { Parley } from '../sdk/typescript/src/index.ts';

const MAX_PAGE = 100;

/** As many items of a list call as are wanted, page by page. */
export const listPages = async <Item>(
  parley: Parley,
  path: string,
  name: string,
  query: Record<string, string | undefined> = {},
  wanted = Number.POSITIVE_INFINITY,
): Promise<Item[]> => {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await parley.call<{ [items: string]: unknown; cursor?: string }>('GET', path, {
      query: { ...query, limit: Math.min(MAX_PAGE, wanted - items.length), cursor },
    });
    items.push(...(page[name] as Item[]));
    cursor = page.cursor;
  } while (cursor !== undefined && items.length < wanted);
  return items.slice(0, wanted);
};
