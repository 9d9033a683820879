import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalAddress, clientAddress } from '../../runtime/client-address.js';

const trusted = ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'];

describe('the client address (OP-30)', () => {
  it.each([
    ['an untrusted peer', '203.0.113.9', '198.51.100.7', '203.0.113.9', 'peer'],
    ['a trusted peer without the header', '10.0.0.4', undefined, '10.0.0.4', 'peer'],
    ['a trusted peer', '10.0.0.4', '198.51.100.7', '198.51.100.7', 'xff'],
    ['the first untrusted hop from the right', '10.0.0.4', '1.1.1.1, 198.51.100.7, 192.0.2.7', '198.51.100.7', 'xff'],
    ['what does not parse is skipped', '10.0.0.4', '1.1.1.1, 198.51.100.7, unknown, 1.2.3.4:80', '198.51.100.7', 'xff'],
    ['only trusted hops: the leftmost', '10.0.0.4', '10.1.1.1, 10.2.2.2', '10.1.1.1', 'xff'],
    ['nothing that parses', '10.0.0.4', 'unknown,,', '10.0.0.4', 'peer'],
    ['an IPv4-mapped peer', '::ffff:10.0.0.4', '::FFFF:198.51.100.7', '198.51.100.7', 'xff'],
    ['IPv6 in its shortest form', '2001:0db8:0:0::1', '2606:4700:0000::0001', '2606:4700::1', 'xff'],
  ])('%s', (_what, peer, header, clientIp, source) => {
    const found = clientAddress(peer, header, trusted);
    expect([found.clientIp, found.clientIpSource]).toEqual([clientIp, source]);
    expect(found.peerIp).toBe(canonicalAddress(peer));
  });

  it('never follows a header from an untrusted peer (OP-I7)', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (peer, header) => {
        fc.pre(!peer.startsWith('10.') && peer !== '192.0.2.7');
        expect(clientAddress(peer, header, trusted)).toEqual({ peerIp: peer, clientIp: peer, clientIpSource: 'peer' });
      }),
    );
  });

  it('knows one form of each address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        const canonical = canonicalAddress(address);
        expect(canonical).not.toBeNull();
        expect(canonicalAddress(canonical ?? '')).toBe(canonical);
      }),
    );
  });
});
