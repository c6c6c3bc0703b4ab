import type { TaskContext } from '../../../sdk/typescript/src/index.ts';

/** Uses everything that is kept with a task. `tell` learns which step runs. */
export const handleInSteps = async (
  ctx: TaskContext,
  helper: string,
  tell: (step: string) => void,
): Promise<number> => {
  await ctx.progress(10, 'begun');
  const one = await ctx.step('one', () => {
    tell('one');
    return 1;
  });
  const many = await ctx.ask<number>('How many?', { type: 'number' });
  const doubled = await ctx.call<number>(helper, many);
  return ctx.step('sum', () => {
    tell('sum');
    return one + doubled;
  });
};
