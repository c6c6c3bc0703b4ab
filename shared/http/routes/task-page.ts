import * as z from 'zod';
import { TaskView } from '../../tasks/queries/task-view.ts';
import { listPageShape } from './list-query.ts';

export const TaskPageView = z.object({ tasks: z.array(TaskView), ...listPageShape }).meta({ id: 'TaskPage' });
