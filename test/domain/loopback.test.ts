import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLoopbackHost } from '../../domain/loopback.js';

const here = [
  ...['localhost', 'LOCALHOST', 'LocalHost', '127.0.0.1', '127.0.0.1.', '127.255.255.254', '127.1', '0x7f.1', '0x7f000001'],
  ...['2130706433', '0177.0.0.1', '１２７.0.0.1', '::1', '[::1]', '0:0:0:0:0:0:0:1', '[0000::0001]'],
  ...['::ffff:127.0.0.1', '[::ffff:7f00:1]', '::FFFF:127.9.9.9'],
];
const elsewhere = [
  ...['', 'localhost.', 'a.localhost', 'localhost.example.com', '127.0.0.1.example.com', 'localhost4', '0.0.0.0', '::', '0'],
  ...[
    '128.0.0.1',
    '10.0.0.1',
    '192.168.0.1',
    '169.254.1.1',
    '::2',
    '::ffff:128.0.0.1',
    '::ffff:0:127.0.0.1',
    'fe80::1',
    'gateway',
  ],
  ...['127.0.0.1@example.com', 'example.com#127.0.0.1', '127.0.0.1/x', 'localhost:80@example.com', 'localhost example.com'],
  ...['127.0.0.256', '127.0.0.0.1', '[::1', '::1]', '::1%lo', '1270.0.0.1', 'ⅼocalhost.example', '/var/run/postgresql'],
];

describe('this machine itself (HD-82)', () => {
  it('is every spelling of 127.0.0.0/8, ::1 and localhost, and nothing else', () => {
    expect(here.filter((host) => !isLoopbackHost(host))).toEqual([]);
    expect(elsewhere.filter(isLoopbackHost)).toEqual([]);
  });

  it('agrees with what an address parser reads of any IPv4 address (property)', () => {
    fc.assert(fc.property(fc.ipV4(), (address) => isLoopbackHost(address) === address.startsWith('127.')));
    const parts = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    fc.assert(
      fc.property(parts, ([a, b, c, d]) => {
        const number = a * 2 ** 24 + b * 2 ** 16 + c * 256 + d;
        expect(isLoopbackHost(String(number))).toBe(a === 127);
        expect(isLoopbackHost(`0x${number.toString(16)}`)).toBe(a === 127);
      }),
    );
  });

  it('is never a text that an address parser reads as another host (property)', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 30 }), (text) => {
        if (!isLoopbackHost(text)) return;
        const address = `http://${text.includes(':') && !text.startsWith('[') ? `[${text}]` : text}/`;
        expect(new URL(address).hostname).toMatch(/^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|\[::ffff:7f..:.*\])$/);
      }),
    );
  });
});
