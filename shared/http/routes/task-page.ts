import * as z from 'zod';
import { TaskView } from '../../tasks/queries/task-view.ts';
import { boundedCount } from '../route.ts';

export const TaskPageView = z.object({ tasks: z.array(TaskView), cursor: z.string().optional() });
export const pageQuery = { limit: boundedCount(100, 20), cursor: z.string().max(300).optional() };
