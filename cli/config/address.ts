import { BlockList, isIP } from 'node:net';

/** Whether a host is loopback, private or dot-less: plain http to it never uses a proxy (CL-10). Takes `URL.hostname`. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const version = isIP(host);
  if (version !== 0) return privateAddresses.check(host, version === 6 ? 'ipv6' : 'ipv4');
  return !host.includes('.') || host.endsWith('.svc.cluster.local') || host.endsWith('.internal');
}

const privateAddresses = new BlockList();
privateAddresses.addAddress('0.0.0.0');
privateAddresses.addSubnet('127.0.0.0', 8);
privateAddresses.addSubnet('10.0.0.0', 8);
privateAddresses.addSubnet('172.16.0.0', 12);
privateAddresses.addSubnet('192.168.0.0', 16);
privateAddresses.addSubnet('169.254.0.0', 16);
privateAddresses.addAddress('::1', 'ipv6');
privateAddresses.addSubnet('fc00::', 7, 'ipv6');
privateAddresses.addSubnet('fe80::', 10, 'ipv6');
