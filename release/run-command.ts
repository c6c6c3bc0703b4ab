import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Returns what it wrote to standard output; throws with all that it said. */
export const runCommand = async (command: string, args: string[], cwd: string): Promise<string> => {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${err}${out}`);
  return out;
};

export const packFolder = async (folder: string, destination: string): Promise<string> => {
  const said = await runCommand('npm', ['pack', '--silent', '--json', '--pack-destination', destination], folder);
  const [{ filename = '' } = {}] = JSON.parse(said) as { filename?: string }[];
  return `${destination}/${filename}`;
};
