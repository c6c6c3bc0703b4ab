export interface Webhook {
  id: string;
  url: string;
  types: string[];
  agent?: string;
  domain?: string;
  taskId?: string;
  description?: string;
  createdAt: string;
  disabled?: { at: string; reason: 'gone' | 'failing' | 'operator' };
}

export const WHY_DISABLED = {
  gone: 'Its receiver answered that it is gone.',
  failing: 'Its receiver failed for three days.',
  operator: 'Someone turned it off.',
} as const;

export const toPath = (id: string): string => `v1/webhooks/${encodeURIComponent(id)}`;

/** What a change sends: a webhook is replaced whole, and keeps its secret. */
export const toRequest = ({ url, types, agent, domain, taskId, description }: Omit<Webhook, 'id' | 'createdAt'>) => ({
  url,
  types,
  ...(agent && { agent }),
  ...(domain && { domain }),
  ...(taskId && { taskId }),
  ...(description && { description }),
});
