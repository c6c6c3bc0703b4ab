import * as z from 'zod';
import { TaskView } from '../../tasks/task-view.ts';
import { countUpTo } from '../route.ts';

export const Tasks = z.object({ tasks: z.array(TaskView), cursor: z.string().optional() });
export const page = { limit: countUpTo(100, 20), cursor: z.string().max(300).optional() };
