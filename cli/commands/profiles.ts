import { connect } from '../../sdk/typescript/src/index.ts';
import { type Command, getText, UsageError } from '../command.ts';
import { readProfiles, writeProfiles } from '../profiles.ts';

const list: Command = {
  name: 'profiles list',
  summary: 'List the deployments that this computer knows',
  examples: ['parley profiles list'],
  run: async ({ out }) => {
    const { current, profiles } = readProfiles();
    const rows = Object.entries(profiles).map(([name, { url }]) => ({ name, url, isCurrent: name === current }));
    out.table(
      rows,
      [
        { title: '', value: ({ isCurrent }) => (isCurrent ? '*' : '') },
        { title: 'name', value: ({ name }) => name },
        { title: 'url', value: ({ url }) => url },
      ],
      'No profiles. parley profiles add NAME --url … --key … adds one.',
    );
  },
};

const add: Command = {
  name: 'profiles add',
  summary: 'Add a deployment, and use it from now on',
  args: 'NAME',
  arity: [1, 1],
  examples: ['parley profiles add production --url https://parley.example.com --key prl_…'],
  run: async ({ args: [name = ''], options, out }) => {
    const [url, key] = [getText(options, 'url'), getText(options, 'key')];
    if (!url || !key) throw new UsageError('A profile needs --url and --key.');
    // A wrong key is better known now than later.
    await connect({ url, key, retryFor: '3s' }).call('GET', '/v1/domains');
    const file = readProfiles();
    writeProfiles({ current: name, profiles: { ...file.profiles, [name]: { url, key } } });
    out.note(`${name} is ${url}, and is used from now on.`);
  },
};

const use: Command = {
  name: 'profiles use',
  summary: 'Use another deployment',
  args: 'NAME',
  arity: [1, 1],
  examples: ['parley profiles use production'],
  run: async ({ args: [name = ''], out }) => {
    const file = readProfiles();
    if (!Object.hasOwn(file.profiles, name)) throw new UsageError(`There is no profile "${name}".`);
    writeProfiles({ ...file, current: name });
    out.note(`${name} is used from now on.`);
  },
};

const remove: Command = {
  name: 'profiles remove',
  summary: 'Forget a deployment',
  args: 'NAME',
  arity: [1, 1],
  examples: ['parley profiles remove production'],
  run: async ({ args: [name = ''], out }) => {
    const { current, profiles } = readProfiles();
    const { [name]: gone, ...rest } = profiles;
    if (!gone) throw new UsageError(`There is no profile "${name}".`);
    writeProfiles({ ...(current !== undefined && current !== name && { current }), profiles: rest });
    out.note(`${name} is forgotten.`);
  },
};

export { add, list, remove, use };
