import { BlockList, isIP } from 'node:net';

/** Whether plain http to this host name or address stays inside a private network (AP-02). */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const family = isIP(host);
  if (family === 4) return privateRanges.check(host, 'ipv4');
  if (family === 6) return privateRanges.check(host, 'ipv6');
  return !host.includes('.') || host.endsWith('.svc.cluster.local') || host.endsWith('.internal') || host === 'localhost.';
}

const privateRanges = new BlockList();
for (const [address, prefix] of [
  ['127.0.0.0', 8],
  ['0.0.0.0', 32],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const) {
  privateRanges.addSubnet(address, prefix, 'ipv4');
}
for (const [address, prefix] of [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  privateRanges.addSubnet(address, prefix, 'ipv6');
}
