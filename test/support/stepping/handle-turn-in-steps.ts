import type { Turn, TurnContext } from '../../../sdk/typescript/src/index.ts';

/** Uses everything that is kept with a turn. `tell` learns which step runs. */
export const handleTurnInSteps = async (
  { payload }: Turn<{ number: number }>,
  ctx: TurnContext,
  tool: string,
  tell: (step: string) => void,
): Promise<{ answer: number }> => {
  const first = await ctx.step('think', () => {
    tell('think');
    return payload.number;
  });
  const { doubled } = await ctx.tool<{ doubled: number }>(tool, { number: first });
  const answer = await ctx.step('add', () => {
    tell('add');
    return doubled + 1;
  });
  return { answer };
};
