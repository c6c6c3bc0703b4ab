/** Writes what the present code stores, as the fixture of its format: run it before the format is changed. */
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { ensureKey } from '../../local/ensure-key.ts';
import { STORAGE_FORMAT } from '../../shared/engines/embedded/sql-schema.ts';
import { ADMIN_OWNER, generateKey } from '../../shared/identity/auth/keys.ts';
import { startWorlds } from '../aws/worlds.ts';
import { settled } from '../http/refusal.ts';
import { callerWith } from '../support/api.ts';
import { testParley } from '../support/test-parley.ts';
import { encodeItem, type Fixture, readFolder, saveFixture } from './fixture.ts';
import { readAnswers, reportMore, transportTo, writeStory } from './story.ts';

const cleanUps: (() => unknown)[] = [];
const scope = { after: (cleanUp: () => unknown) => void cleanUps.unshift(cleanUp) };

/** As a kill leaves it: some writes are in the database, the last ones in the journal only. */
const writeFolderFixture = async (): Promise<Fixture['embedded']> => {
  const parley = await testParley(scope);
  const settle = () => settled(parley);
  const { keys, answers } = await writeStory(parley.transport, parley.admin, settle);
  await parley.restart();
  await reportMore(parley.transport, keys, answers);
  await settle();
  return {
    keys,
    answers: await readAnswers(parley.transport, keys, Object.keys(answers)),
    files: readFolder(parley.dir),
  };
};

const writeItemsFixture = async (): Promise<Fixture['aws']> => {
  const { worlds, dynamo } = await startWorlds(scope, 1, 'task', 'direct-message', 'health', 'fanout');
  const [world] = worlds;
  if (!world) throw new Error('there is no world');
  const { deps, project } = world;
  const adminKey = generateKey(project, ADMIN_OWNER);
  await ensureKey(deps.records, project, 'admin', adminKey);
  const transport = transportTo(deps);
  const written = await writeStory(transport, callerWith(transport, adminKey), () => world.settled());
  if (world.faults.length > 0) throw new AggregateError(world.faults);
  const { Items: items = [] } = await dynamo.send(new ScanCommand({ TableName: 'worlds', ConsistentRead: true }));
  return { ...written, time: deps.clock.now(), items: items.map(encodeItem) };
};

try {
  saveFixture(STORAGE_FORMAT, { embedded: await writeFolderFixture(), aws: await writeItemsFixture() });
} finally {
  for (const cleanUp of cleanUps) await cleanUp();
}
process.exit();
