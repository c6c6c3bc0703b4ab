import * as z from 'zod';
import type { Deps } from '../../identity/deps.ts';
import { LIST_CURSOR, type ListQuery } from '../../ports/lists.ts';
import type { Item } from '../../ports/records.ts';
import { boundedCount } from '../route.ts';

/** `true` in a query. */
const flag = z.literal('true').transform((): true => true);

/** Some of them, with commas between. */
export const commaSeparated = <const T extends string>(values: readonly T[]) =>
  z
    .string()
    .max(300)
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values)).min(1))
    .meta({ type: 'string', description: `one or several of ${values.join(', ')}, with commas between` });

export const time = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .meta({ type: 'string', format: 'date-time', description });

export const agentName = z.string().min(1).max(64);

export const timeRange = {
  since: time('created at this time or later').optional(),
  until: time('created before this time').optional(),
};

export const listQuery = {
  limit: boundedCount(100, 20),
  cursor: z.string().regex(LIST_CURSOR, 'must be one that an earlier page gave').optional(),
  count: flag.optional().describe('also count all matches'),
};

export const CountView = z
  .object({
    value: z.number(),
    isExact: z.boolean().describe('if not, there are at least so many: it counts to 1,000'),
  })
  .meta({ id: 'Count' });

export const listPageShape = { count: CountView.optional(), cursor: z.string().optional() };

export const LIST_DESCRIPTION =
  'A page. With a `cursor` there may be more, even if the page is short or empty: a call reads a bounded part of the index';

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
  count?: true | undefined;
}

/** A page of records with what a response says of it. */
export const loadPage = async <T extends Item>(
  { records }: Deps,
  query: ListQuery<T>,
  { limit, cursor: after, count: isCounted }: PageQuery,
) => {
  const [{ records: found, cursor }, count] = await Promise.all([
    records.list(query, { after, limit }),
    isCounted ? records.count(query) : undefined,
  ]);
  return { found, count, cursor };
};

export { flag };
