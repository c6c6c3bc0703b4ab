import type { Agent, RegisteredAgent } from '../../identity/agents/agent.ts';
import type { Deps } from '../../identity/deps.ts';
import { type Issue, ParleyError } from '../../kernel/errors.ts';
import { uuidFromSeed } from '../../kernel/ids.ts';
import type { Json } from '../../kernel/json/json.ts';
import { loadSchemaChecker } from '../../kernel/json/schema-checker.ts';
import type { FailMessage } from '../../model/command.ts';
import type { Task } from '../../model/task.ts';
import { loadContent } from '../../storage/content.ts';

type Side = 'input' | 'output';

const getSchema = ({ schemas = {} }: Agent, capability: string, side: Side): object | undefined =>
  Object.hasOwn(schemas, capability) ? schemas[capability]?.[side] : undefined;

export const hasOutputSchemas = ({ schemas = {} }: Agent): boolean =>
  Object.values(schemas).some(({ output }) => output !== undefined);

const findIssues = async (agent: Agent, capability: string, side: Side, value: Json): Promise<Issue[]> => {
  const schema = getSchema(agent, capability, side);
  return schema ? (await loadSchemaChecker())(schema, value, side) : [];
};

const formatMisfit = (agent: string, capability: string, side: Side, issues: Issue[]): string =>
  `The ${side} does not fit the schema of ${agent} for ${capability}: ${issues.map(({ path }) => path).join(', ')}.`;

/** For a task to one agent. Other agents check it when they claim. */
export const checkInput = async (agent: Agent, capability: string, input: Json): Promise<ParleyError | undefined> => {
  const issues = await findIssues(agent, capability, 'input', input);
  if (issues.length === 0) return undefined;
  return new ParleyError('invalid_message', formatMisfit(agent.id, capability, 'input', issues), { issues });
};

/** The holder can correct the output and send it again. */
export const assertOutputFits = async (agent: Agent, { capability }: Task, output: Json): Promise<void> => {
  const issues = await findIssues(agent, capability, 'output', output);
  if (issues.length === 0) return;
  throw new ParleyError('invalid_message', formatMisfit(agent.id, capability, 'output', issues), { issues });
};

/** An output that is too large to check counts as invalid. */
const findInputIssues = async (agent: Agent, capability: string, input: Json): Promise<Issue[]> => {
  try {
    return await findIssues(agent, capability, 'input', input);
  } catch (error) {
    if (error instanceof ParleyError && error.code === 'too_large') return [{ path: 'input', message: error.message }];
    throw error;
  }
};

/** The decline of an agent that has claimed a task whose input does not fit its schema; undefined if it fits. */
export const findMisfit = async (
  deps: Deps,
  { agent }: RegisteredAgent,
  { project, id, capability, attempt, input }: Task,
): Promise<FailMessage | undefined> => {
  if (!getSchema(agent, capability, 'input')) return undefined;
  const issues = await findInputIssues(agent, capability, await loadContent(deps.blobs, project, input));
  if (issues.length === 0) return undefined;
  const message = formatMisfit(agent.id, capability, 'input', issues);
  const said = uuidFromSeed(['misfit', id, attempt]);
  return {
    kind: 'fail',
    messageId: said,
    fingerprint: said,
    from: agent.id,
    taskId: id,
    attempt,
    isDecline: true,
    error: {
      code: 'invalid_params',
      message,
      retryable: false,
      details: { issues: issues.map(({ path, message: what }) => ({ path, message: what })) },
    },
    extensions: {},
  };
};
