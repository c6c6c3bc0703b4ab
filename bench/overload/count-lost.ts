import { Connection } from '../connection.ts';
import { ADMIN_KEY } from '../server.ts';

const READERS = 32;

/** How many of the tasks that were acknowledged are not there. */
export const countLost = async (port: number, ids: string[]): Promise<number> => {
  let [next, lost] = [0, 0];
  const readers = Array.from({ length: READERS }, async () => {
    const connection = new Connection(port, ADMIN_KEY);
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      if (!(await isThere(connection, id))) lost += 1;
    }
    connection.close();
  });
  await Promise.all(readers);
  return lost;
};

const isThere = async (connection: Connection, id: string): Promise<boolean> => {
  try {
    await connection.call('GET', `/v1/tasks/${id}`, '', 200);
    return true;
  } catch (error) {
    if (String(error).includes('was answered with 404')) return false;
    throw error;
  }
};
