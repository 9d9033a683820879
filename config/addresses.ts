import { BlockList, isIP } from 'node:net';

/** Addresses that are not public (NT-41). A mapped IPv6 form is matched by the IPv4 address inside it. */
const PRIVATE = blockList([
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16',
  '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  '::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8',
]);

/** Link-local and metadata addresses, also as they are written behind NAT64: refused always (NT-44). */
const NEVER = blockList(['169.254.0.0/16 fe80::/10 fd00:ec2::254/128 ::a9fe:0/112 64:ff9b::a9fe:0/112 64:ff9b:1::a9fe:0/112']);

/** Whether a host is on this machine or the local network. Only its spelling decides: no name is looked up. */
export function isPrivateHost(host: string): boolean {
  return isLocalName(host) || matches(PRIVATE, host);
}

/**
 * Why no delivery may go to a host, judged by its spelling alone (NT-41, NT-44); null if one may. Each delivery looks the name up
 * (NT-43).
 */
export function refusedHost(host: string, allowPrivateNetworks: boolean): 'never' | 'private' | null {
  if (matches(NEVER, host)) return 'never';
  return !allowPrivateNetworks && isPrivateHost(host) ? 'private' : null;
}

/** Whether the text is an IP address, or one with a prefix length. */
export function isAddressOrCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

const isLocalName = (host: string) => /^(?:.*\.)?localhost\.?$/i.test(host);

function matches(list: BlockList, host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges.join(' ').split(' ')) {
    const [address = '', prefix] = range.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
