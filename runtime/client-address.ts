import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6 } from 'node:net';

export interface ClientAddress {
  peerIp: string | null;
  clientIp: string | null;
  clientIpSource: 'peer' | 'xff' | null;
}

/** The peer's address, or the forwarded one. */
export function addressOf(request: IncomingMessage, trustedProxies: readonly string[]): ClientAddress {
  const forwarded = request.headers['x-forwarded-for'];
  return clientAddress(request.socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, trustedProxies);
}

/** OP-30: the forwarded address counts only if the peer is a trusted proxy. */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: readonly string[],
): ClientAddress {
  const peerIp = peer === undefined ? null : canonicalAddress(peer);
  if (peerIp === null) return { peerIp, clientIp: null, clientIpSource: null };
  const direct = { peerIp, clientIp: peerIp, clientIpSource: 'peer' } as const;
  if (forwardedFor === undefined || trustedProxies.length === 0) return direct;
  const trusted = blockList(trustedProxies);
  if (!contains(trusted, peerIp)) return direct;
  const hops = forwardedFor.split(',').flatMap((hop) => canonicalAddress(hop.trim()) ?? []);
  const clientIp = hops.findLast((hop) => !contains(trusted, hop)) ?? hops[0];
  return clientIp === undefined ? direct : { peerIp, clientIp, clientIpSource: 'xff' };
}

/** Whether the caller connected by TLS, as the trusted proxy says; if it sends several words, all of them must say so. */
export function cameByHttps(request: IncomingMessage, trustedProxies: readonly string[]): boolean {
  const peerIp = canonicalAddress(request.socket.remoteAddress ?? '');
  if (peerIp === null || trustedProxies.length === 0 || !contains(blockList(trustedProxies), peerIp)) return false;
  const words = [request.headers['x-forwarded-proto'] ?? ''].flat().flatMap((text) => text.split(','));
  return words.every((word) => word.trim().toLowerCase() === 'https');
}

/** The shortest form of an address; IPv4-mapped addresses become IPv4. Null for anything else. */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  const withoutZone = text.split('%')[0] ?? '';
  if (!isIPv6(withoutZone)) return null;
  const short = new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped === null) return short;
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const family = (address: string) => (isIPv4(address) ? 'ipv4' : 'ipv6');
const contains = (list: BlockList, address: string) => list.check(address, family(address));

const lists = new WeakMap<readonly string[], BlockList>();

function blockList(entries: readonly string[]): BlockList {
  const known = lists.get(entries);
  if (known !== undefined) return known;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    if (bits === undefined) list.addAddress(address, family(address));
    else list.addSubnet(address, Number(bits), family(address));
  }
  lists.set(entries, list);
  return list;
}
