import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const PACKAGE = /^(.*node_modules\/(@[^/]+\/[^/]+|[^/@]+))\//;

/** The licences of the packages that a bundle contains: most of them must be handed on with it. */
export const formatThirdPartyLicenses = async (root: string, inputs: Iterable<string>): Promise<string> => {
  const folders = new Map<string, string>();
  for (const input of inputs) {
    const [, folder, name] = PACKAGE.exec(input) ?? [];
    if (folder !== undefined && name !== undefined) folders.set(folder, name);
  }
  const texts = [...folders]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, name]) => formatLicense(join(root, folder), name));
  return (await Promise.all(texts)).join('\n');
};

const formatLicense = async (folder: string, name: string): Promise<string> => {
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    version: string;
    license?: string;
  };
  const file = (await readdir(folder)).find((one) => /^licen[cs]e(\.|$)/i.test(one));
  const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
  return `${name} ${version} (${license ?? 'see its licence'})\n\n${text}\n`;
};
