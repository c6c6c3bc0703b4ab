import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeys } from '@nats-io/transport-node';

export const checkFiles = (environment: Record<string, string | undefined>): [variable: string, mistake: string][] => [
  ...FILE_VARIABLES.flatMap((variable): [string, string][] => {
    const file = environment[variable];
    return file === undefined || readTextFile(file) !== undefined ? [] : [[variable, `${file} cannot be read`]];
  }),
  ...checkVariable('NATS_NKEY_SEED_FILE', environment, (file) => checkSeed(readTextFile(file))),
  ...checkVariable('NATS_CREDS_FILE', environment, (file) =>
    checkSeed(SEED_IN_CREDS.exec(readTextFile(file) ?? '')?.[1]),
  ),
  ...checkVariable('NATS_CERT_DIR', environment, checkCertFolder),
];

const FILE_VARIABLES = ['PARLEY_RELAY_KEY_FILE', 'NATS_CREDS_FILE', 'NATS_NKEY_SEED_FILE'];
const SEED_IN_CREDS = /-+BEGIN USER NKEY SEED-+\s*(\S+)/;

const checkVariable = (
  variable: string,
  environment: Record<string, string | undefined>,
  mistakeIn: (path: string) => string | undefined,
): [string, string][] => {
  const path = environment[variable];
  const mistake =
    path !== undefined && (variable.endsWith('_DIR') || readTextFile(path) !== undefined) && mistakeIn(path);
  return mistake ? [[variable, mistake]] : [];
};

const readTextFile = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
};

const checkSeed = (pending = ''): string | undefined => {
  try {
    nkeys.fromSeed(new TextEncoder().encode(pending));
    return undefined;
  } catch {
    return 'holds no seed of an nkey';
  }
};

const checkCertFolder = (folder: string): string | undefined => {
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => existsSync(join(folder, name)));
  if (!ca && !cert && !key) return `${folder} has neither ca.pem nor cert.pem and key.pem`;
  return cert === key ? undefined : `${folder} has one of cert.pem and key.pem; a client needs both`;
};
