import type { Clock } from '../ports/clock.ts';
import type { Item, Records } from '../ports/records.ts';
import { type Tool, toolRef } from '../tools/tool.ts';
import { type Agent, agentPk, type Health, isHealth, type Known } from './agent.ts';
import { type Office, type OfficeKey, officeNamed, officeRef } from './keys.ts';

/** How long a lookup is believed: a key that was revoked elsewhere works for this long at most. */
const BELIEVED_MS = 5000;
const MAX_ENTRIES = 10_000;

/** Agents, offices and tools by name, without a read for each request. What is absent is asked for every time. */
export interface Directory {
  agent(project: string, id: string): Promise<Known | undefined>;
  office(project: string, office: Office): Promise<OfficeKey | undefined>;
  /** Whoever changed an agent or an office forgets it here, so that this process sees the change at once. */
  forget(project: string, owner: string): void;
  tool(project: string, name: string): Promise<Tool | undefined>;
  forgetTool(project: string, name: string): void;
}

export const directoryOf = (records: Records, clock: Clock): Directory => {
  const agents = believed<Known>(clock);
  const offices = believed<OfficeKey>(clock);
  const tools = believed<Tool>(clock);
  return {
    agent: (project, id) => agents.get(agentPk(project, id), () => lookUp(records, project, id)),
    office: (project, office) => {
      const ref = officeRef(project, office);
      return offices.get(ref.pk, () => records.get(ref));
    },
    forget: (project, owner) => {
      const office = officeNamed(owner);
      if (office) offices.delete(officeRef(project, office).pk);
      else agents.delete(agentPk(project, owner));
    },
    tool: (project, name) => {
      const ref = toolRef(project, name);
      return tools.get(ref.pk, () => records.get(ref));
    },
    forgetTool: (project, name) => tools.delete(toolRef(project, name).pk),
  };
};

const lookUp = async (records: Records, project: string, id: string): Promise<Known | undefined> => {
  const items = await records.query<Agent | Health>({ p: agentPk(project, id), limit: 10 });
  const agent = items.find(isAgent);
  const health = items.find(isHealth);
  return agent && { agent, health };
};

const isAgent = (item: Item): item is Agent => item.sk === 'agent';

const believed = <T>(clock: Clock) => {
  const entries = new Map<string, { found: Promise<T | undefined>; until: number }>();
  const renewed = async (key: string, found: Promise<T | undefined>): Promise<T | undefined> => {
    entries.delete(key);
    const value = await found;
    if (value === undefined) return undefined;
    const [oldest] = entries.keys();
    if (oldest !== undefined && entries.size >= MAX_ENTRIES) entries.delete(oldest);
    entries.set(key, { found, until: clock.now() + BELIEVED_MS });
    return value;
  };
  return {
    delete: (key: string) => entries.delete(key),
    get: (key: string, find: () => Promise<T | undefined>): Promise<T | undefined> => {
      const entry = entries.get(key);
      return entry && entry.until > clock.now() ? entry.found : renewed(key, find());
    },
  };
};
