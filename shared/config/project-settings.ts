import type { Config } from './config.ts';

export const listDomains = (config: Config, project: string): string[] =>
  Object.keys(config.projects[project]?.domains ?? {});

export const hasRelay = (config: Config, project: string): boolean => config.projects[project]?.relay ?? false;

export const isServedOverNats = (config: Config, project: string, domain: string | undefined): boolean =>
  domain !== undefined && config.projects[project]?.domains[domain]?.transport === 'nats';
