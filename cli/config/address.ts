import { BlockList, isIP } from 'node:net';

/** Whether a host is loopback, private or dot-less: plain http to it never uses a proxy (CL-10). Takes `URL.hostname`. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const version = isIP(host);
  if (version !== 0) return privateAddresses().check(host, version === 6 ? 'ipv6' : 'ipv4');
  return !host.includes('.') || host.endsWith('.svc.cluster.local') || host.endsWith('.internal');
}

function privateAddresses(): BlockList {
  const addresses = new BlockList();
  addresses.addAddress('0.0.0.0');
  addresses.addSubnet('127.0.0.0', 8);
  addresses.addSubnet('10.0.0.0', 8);
  addresses.addSubnet('172.16.0.0', 12);
  addresses.addSubnet('192.168.0.0', 16);
  addresses.addSubnet('169.254.0.0', 16);
  addresses.addAddress('::1', 'ipv6');
  addresses.addSubnet('fc00::', 7, 'ipv6');
  addresses.addSubnet('fe80::', 10, 'ipv6');
  return addresses;
}
