import { BlockList, isIP } from 'node:net';

/** What IANA lists as of special purpose: the own machine and network, metadata services, multicast, documentation. */
const FORBIDDEN_V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** IPv6 only where it is global unicast, and there not the ranges that hold an IPv4 address or are no hosts. */
const ALLOWED_V6 = [['2000::', 3]] as const;
const FORBIDDEN_V6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const forbidden = new BlockList();
for (const [network, prefix] of FORBIDDEN_V4) forbidden.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of FORBIDDEN_V6) forbidden.addSubnet(network, prefix, 'ipv6');
const global = new BlockList();
for (const [network, prefix] of ALLOWED_V6) global.addSubnet(network, prefix, 'ipv6');

/** Whether an address, in any of its forms, is not one of a public host. Mapped IPv4 addresses are none. */
export const isPrivateAddress = (address: string): boolean => {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 4) return forbidden.check(bare, 'ipv4');
  return family !== 6 || !global.check(bare, 'ipv6') || forbidden.check(bare, 'ipv6');
};
