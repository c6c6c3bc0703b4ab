import { hasRelay } from '../config/project-settings.ts';
import type { Directory } from '../identity/agents/directory.ts';
import type { Deps } from '../identity/deps.ts';
import type { TaskOutcome } from '../model/delivery.ts';
import type { Effect } from '../model/effect.ts';
import { buildOutcomeRelay, toRelayEventMessage } from '../nats/relay-item.ts';
import type { RecordChange } from '../ports/records.ts';
import { type ExecutableEffect, executeEffects } from './effect-handlers.ts';
import { computeEffects } from './record-handlers.ts';
import { recordSpans } from './record-spans.ts';
import { recordChangeLag, recordTaskMetrics } from './record-task-metrics.ts';

interface DispatchOptions {
  /** What a write has put into a queue itself is left to the timer of its task when the change is older. */
  sendWithinMs?: number;
}

/** Idempotent. */
export const dispatchChanges = async (
  deps: Deps,
  changes: RecordChange[],
  { sendWithinMs = Infinity }: DispatchOptions = {},
): Promise<void> => {
  const since = deps.clock.now() - sendWithinMs;
  const effects = changes.flatMap((change) =>
    (change.after?.at ?? Infinity) >= since ? computeEffects(change) : computeEffects(change).filter(isNotSentEagerly),
  );
  await executeEffects(deps, await expandForRelay(deps, effects));
  for (const effect of effects) if (effect.kind === 'publish') recordTaskMetrics(deps, effect.event);
  recordSpans(deps, changes);
  recordChangeLag(deps, changes);
};

/** Messages for NATS come from the change feed alone. */
const isNotSentEagerly = (effect: Effect): boolean =>
  effect.kind !== 'enqueue' || effect.message.queueKey.kind === 'relay';

/** Effects for agents on NATS become queue messages of the relay, in the order of their changes. */
const expandForRelay = async (deps: Deps, effects: Effect[]): Promise<ExecutableEffect[]> => {
  const expanded = effects.map((effect) => expandEffectForRelay(deps, effect));
  return expanded.every((one) => Array.isArray(one)) ? expanded.flat() : (await Promise.all(expanded)).flat();
};

const expandEffectForRelay = (
  { config, directory }: Deps,
  effect: Effect,
): ExecutableEffect[] | Promise<ExecutableEffect[]> => {
  if (effect.kind === 'relay') {
    return hasRelay(config, effect.message.queueKey.project) ? [{ kind: 'enqueue', message: effect.message }] : [];
  }
  if (effect.kind === 'publish' && hasRelay(config, effect.event.project)) {
    const message = toRelayEventMessage(effect.event);
    return message ? [effect, { kind: 'enqueue', message }] : [effect];
  }
  if (effect.kind === 'deliver' && effect.delivery.outcome && hasRelay(config, effect.delivery.project)) {
    return routeDelivery(directory, effect, effect.delivery.project, effect.delivery.outcome);
  }
  return [effect];
};

const routeDelivery = async (
  directory: Directory,
  effect: ExecutableEffect,
  project: string,
  outcome: TaskOutcome,
): Promise<ExecutableEffect[]> => {
  const reader = await directory.getAgent(project, outcome.to);
  return reader?.agent.transport === 'nats'
    ? [{ kind: 'enqueue', message: buildOutcomeRelay(project, outcome) }]
    : [effect];
};
