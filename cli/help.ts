import { COMMON_OPTIONS, type Command, takesValue } from './command.ts';
import { COMMANDS } from './registry.ts';

export const formatHelp = (group?: string): string => {
  const shown = Object.entries(COMMANDS).filter(([name]) => group === undefined || name.startsWith(`${group} `));
  const width = Math.max(...shown.map(([name]) => name.length));
  const lines = shown.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Durable tasks between AI agents, from a terminal.

  parley <command> [arguments] [options]

${lines.join('\n')}

parley <command> --help shows the options and examples of one.
`;
};

export const formatCommandHelp = ({ name, summary, args, options = {}, examples }: Command): string => {
  const all = { ...options, ...COMMON_OPTIONS };
  const rows = Object.entries(all).map(([option, description]) => {
    const [value = ''] = takesValue(description) ? description.split(' ') : [''];
    return [`--${option}${value && ` ${value}`}`, description.slice(value.length).trim()] as const;
  });
  const width = Math.max(...rows.map(([option]) => option.length));
  return `${summary}.

  parley ${name}${args ? ` ${args}` : ''} [options]

${rows.map(([option, text]) => `  ${option.padEnd(width)}  ${text}`).join('\n')}

Examples:
${examples.map((example) => `  ${example}`).join('\n')}
`;
};
