import { REQUESTER_TOOLS } from './requester-tools.ts';
import type { ControlTool } from './tool.ts';
import { WORKER_TOOLS } from './worker-tools.ts';

export const CONTROL_TOOLS: readonly ControlTool[] = [...REQUESTER_TOOLS, ...WORKER_TOOLS];

const BY_NAME = new Map(CONTROL_TOOLS.map((tool) => [tool.name, tool]));

export const findControlTool = (name: string): ControlTool | undefined => BY_NAME.get(name);
