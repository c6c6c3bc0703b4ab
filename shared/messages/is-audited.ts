import type { Agent } from '../agents/agent.ts';
import type { Config } from '../config.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { getDialect } from '../dialects/registry.ts';

/** Whether the log of messages has those that agents of the dialect send and are given. */
export const isAudited = ({ messageLog }: Config, dialect: Dialect): boolean =>
  messageLog[dialect.name] ?? dialect.isLogged;

/** What an agent's record of a message keeps for the log: the agent's dialect, where that is logged. */
export const getAuditDialect = (config: Config, { dialect }: Agent): string | undefined =>
  isAudited(config, getDialect(dialect)) ? dialect : undefined;
