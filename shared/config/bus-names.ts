import type { Subscription } from './bus-config.ts';

interface BusSettings {
  bus: string[];
  subscriptions: Record<string, Subscription>;
}

/** The types that are published for a project. */
export const listBusTypes = ({ bus, subscriptions }: BusSettings, project: string): string[] => [
  ...new Set([
    ...bus,
    ...Object.values(subscriptions).flatMap((one) => (one.project === project ? (one.types ?? []) : [])),
  ]),
];

export const buildBusName = (stage: string, project: string): string => `parley-${stage}-${project}`;
