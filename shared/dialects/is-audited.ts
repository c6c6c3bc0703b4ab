import type { Config } from '../config/config.ts';
import type { Agent } from '../identity/agents/agent.ts';
import type { Dialect } from './dialect.ts';
import { getDialect } from './registry.ts';

/** Whether the log of messages has those that agents of the dialect send and are given. */
export const isAudited = ({ auditLog }: Config, dialect: Dialect): boolean =>
  auditLog[dialect.name] ?? dialect.isAuditedByDefault;

/** What an agent's record of a message keeps for the log: the agent's dialect, where that is logged. */
export const getAuditDialect = (config: Config, { dialect }: Agent): string | undefined =>
  isAudited(config, getDialect(dialect)) ? dialect : undefined;
