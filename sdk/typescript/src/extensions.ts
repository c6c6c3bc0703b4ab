import type { Json, JsonObject } from './json.ts';

/** What an answer rests on, as AgentOS has it. */
export interface Evidence {
  sources: { id?: string; name?: string; type?: string; url?: string; [field: string]: Json | undefined }[];
  /** From 0 to 100. */
  confidence: number;
  citations: { text?: string; source?: string; date?: string; url?: string; [field: string]: Json | undefined }[];
  provenance: {
    entity?: string;
    wasGeneratedBy?: string;
    wasDerivedFrom?: string;
    generatedAtTime?: string;
    [field: string]: Json | undefined;
  }[];
}

/** What only one protocol has words for, as its agent wrote it. */
export interface Extensions {
  'agent-os'?: { evidence?: Evidence; [field: string]: Json | Evidence | undefined };
  'message-routing'?: {
    /** Counts the messages of the sender to this recipient. */
    sequence?: number;
    signature?: string;
    [field: string]: Json | undefined;
  };
  'task-format'?: JsonObject;
  a2a?: JsonObject;
  commonGround?: { headers?: Record<string, string>; [field: string]: Json | Record<string, string> | undefined };
  [dialect: string]: unknown;
}
