/** What a start says once it takes calls. */
export const greeting = (address: string, key: string, dir: string, nats?: string): string =>
  `Parley is listening on ${address} and keeps its state in ${dir}
Admin key: ${key}
${nats === undefined ? '' : `${nats}\n`}
See what it knows:
curl -s ${address}/v1/topics -H 'Authorization: Bearer ${key.replaceAll("'", `'\\''`)}'

Ctrl-C stops it.
`;
