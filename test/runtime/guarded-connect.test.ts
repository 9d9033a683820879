import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import { oneAtATime } from '../../runtime/guarded-connect.js';
import { createAuthority } from '../support/certificates.js';
import { fakeNetwork, openReceiver, openTcpReceiver, openTlsReceiver, send } from '../support/receiver.js';

const delivered = { delivered: true, status: 200 };
const failed = (error: string) => ({ delivered: false, error, status: null, retryAfter: null });
const notAllowed = failed('address not allowed');

/** An address that anybody may be sent to. No test connects to it. */
const publicAddress = '93.184.216.34';
const outside = { allowPrivateNetworks: false };

const inside = [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.0.0.1.',
    '１２７.0.0.1',
    '127。0。0。1',
    '0',
  ],
  ...['10.0.0.1', '100.64.0.1', '169.254.169.254', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
  ...['198.19.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '255.255.255.255', '3232235777'],
  ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:a9fe:a9fe]'],
  ...[
    '[64:ff9b::a00:1]',
    '[64:ff9b:1::1]',
    '[100::1]',
    '[2001::1]',
    '[2001:db8::1]',
    '[2002:7f00:1::]',
    '[fc00::1]',
    '[fd00::1]',
  ],
  ...['[fe80::1]', '[fec0::1]', '[ff02::1]', 'localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ⓛocalhost'],
];
const never = ['169.254.169.254', '2852039166', '0xa9fea9fe', '169.254.1', '[::ffff:169.254.169.254]', '[fe80::1]', '[febf::1]'];
const metadata = [
  '[fd00:ec2::254]',
  '[fd00:0ec2:0:0:0:0:0:254]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[::a9fe:a9fe]',
];

describe('a host in the URL (NT-41, NT-44)', () => {
  it('is refused when it is inside, however it is written, and nobody is asked for it', async () => {
    const { network, asked, connected } = fakeNetwork({});
    for (const host of inside)
      for (const scheme of ['http', 'https'])
        expect([host, await send(0, { url: `${scheme}://${host}/`, ...outside }, { network })]).toEqual([host, notAllowed]);
    expect([asked, connected]).toEqual([[], []]);
  });

  it('is refused when it is link-local or of a cloud, also where private networks are allowed', async () => {
    const { network, asked, connected } = fakeNetwork({});
    for (const host of [...never, ...metadata])
      expect([host, await send(0, { url: `http://${host}/` }, { network })]).toEqual([host, notAllowed]);
    expect([asked, connected]).toEqual([[], []]);
  });

  it('with a zone is no address at all', async () => {
    for (const zone of ['%25lo', '%lo']) expect(await send(0, { url: `http://[::1${zone}]/` })).toEqual(notAllowed);
  });

  it.skipIf(networkInterfaces().lo?.every(({ family }) => family === 'IPv4'))(
    'is connected to when it is an address of IPv6',
    async () => {
      const { received, port } = await openReceiver(undefined, '::1');
      expect(await send(port, { url: `http://[::1]:${port}/` })).toEqual(delivered);
      expect(received[0]?.headers.host).toBe(`[::1]:${port}`);
    },
  );
});

describe('a name (NT-43, NT-I5)', () => {
  it('is kept for the receiver, and connects to the address that was found', async () => {
    const { received, port } = await openReceiver();
    const { network, asked } = fakeNetwork({ 'hooks.example.net': ['127.0.0.1'] });
    expect(await send(port, { url: `http://hooks.example.net:${port}/` }, { network })).toEqual(delivered);
    expect(received[0]?.headers.host).toBe(`hooks.example.net:${port}`);
    expect(asked).toEqual(['hooks.example.net']);
  });

  it('of which one address is inside is refused, wherever that stands', async () => {
    const lists = [
      [publicAddress, '127.0.0.1'],
      ['10.1.2.3', publicAddress],
      ['2606:2800:220:1::1', publicAddress, '::ffff:10.0.0.1'],
      [publicAddress, 'fe80::1%eth0'],
    ];
    for (const list of lists) {
      const { network, connected } = fakeNetwork({ 'mixed.example': list });
      expect(await send(0, { url: 'http://mixed.example/', ...outside }, { network })).toEqual(notAllowed);
      expect(connected).toEqual([]);
    }
  });

  it('that points to metadata is refused also where private networks are allowed', async () => {
    for (const address of ['169.254.169.254', 'fd00:ec2::254', 'fe80::1', '::ffff:169.254.169.254']) {
      const { network, connected } = fakeNetwork({ 'inside.example': ['10.0.0.1', address] });
      expect(await send(0, { url: 'http://inside.example/' }, { network })).toEqual(notAllowed);
      expect(connected).toEqual([]);
    }
  });

  it('that is public when it is checked and inside when it is connected to is asked once, and the checked address stands', async () => {
    const { seen, port } = await openTcpReceiver();
    const answers = [[publicAddress], ['127.0.0.1']];
    const { network, asked, connected } = fakeNetwork(
      { 'rebind.example': () => answers.shift() ?? [] },
      { connect: () => connect({ port: 1, host: '127.0.0.1' }) },
    );
    const url = `http://rebind.example:${port}/`;
    await send(port, { url, ...outside }, { network });
    expect(asked.length).toBe(1);
    const found = await new Promise((resolve) => connected[0]?.lookup?.('rebind.example', {}, (_, list) => resolve(list)));
    expect(found).toEqual([{ address: publicAddress, family: 4 }]);
    expect(await send(port, { url, ...outside }, { network })).toEqual(notAllowed);
    expect([asked.length, connected.length, seen.connections]).toEqual([2, 1, 0]);
  });

  it.each(['http', 'https'])('whose connection ends up inside all the same gets no byte over %s', async (scheme) => {
    const { seen, port } = await openTcpReceiver();
    const { network } = fakeNetwork(
      { 'rebind.example': [publicAddress] },
      { connect: () => connect({ port, host: '127.0.0.1' }) },
    );
    expect(await send(port, { url: `${scheme}://rebind.example/`, ...outside }, { network })).toEqual(notAllowed);
    await expect.poll(() => seen).toEqual({ connections: 1, open: 0, text: '' });
  });

  it('is tried at its other addresses when one does not answer', async () => {
    const { port } = await openReceiver();
    const { network } = fakeNetwork({ 'two.example': ['127.0.0.2', '127.0.0.1'], 'none.example': ['127.0.0.2', '127.0.0.3'] });
    expect(await send(port, { url: `http://two.example:${port}/` }, { network })).toEqual(delivered);
    expect(await send(port, { url: `http://none.example:${port}/` }, { network })).toEqual(failed('connection refused'));
  });

  it('that nobody knows, or that has no address, is an error of DNS', async () => {
    const { network } = fakeNetwork({ 'empty.example': [] });
    for (const host of ['unknown.example', 'empty.example'])
      expect(await send(0, { url: `http://${host}/` }, { network })).toEqual(failed('dns error'));
  });

  it('whose lookup does not end runs into the timeout', async () => {
    const { network } = fakeNetwork({}, { lookup: () => new Promise(() => {}) });
    expect(await send(0, { url: 'http://slow.example/' }, { network, timeoutMs: 200 })).toEqual(failed('timeout'));
  });
});

describe('lookups', () => {
  it('of one name are made one at a time, and anew for a later attempt', async () => {
    const answers = ['127.0.0.1', '10.0.0.1'].map((address) => [{ address, family: 4 }]);
    const asked: string[] = [];
    const lookup = oneAtATime(async (host) => {
      asked.push(host);
      await sleep(20);
      if (host === 'b.example') throw new Error('not found');
      return answers.shift() ?? [];
    });
    expect(await Promise.all([lookup('a.example'), lookup('a.example')])).toEqual(
      Array(2).fill([{ address: '127.0.0.1', family: 4 }]),
    );
    expect(await lookup('a.example')).toEqual([{ address: '10.0.0.1', family: 4 }]);
    await Promise.all([1, 2].map(() => expect(lookup('b.example')).rejects.toThrow('not found')));
    await expect(lookup('b.example')).rejects.toThrow('not found');
    expect(asked).toEqual(['a.example', 'a.example', 'b.example', 'b.example']);
  });
});

describe('TLS (NT-43)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-webhook-tls-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const ours = createAuthority(folder, 'ours');
  const stranger = createAuthority(folder, 'stranger');
  const ca = readFileSync(ours.file, 'utf8');
  const issue = (host: string, authority = ours, days = 2) => {
    const place = mkdtempSync(join(folder, 'issued-'));
    authority.issue(host, place, null, days);
    return { cert: readFileSync(join(place, 'cert.pem'), 'utf8'), key: readFileSync(join(place, 'key.pem'), 'utf8') };
  };
  const names = { 'hooks.example.net': ['127.0.0.1'], 'hooks.example.net.': ['127.0.0.1'] };
  const at = (port: number, host = 'hooks.example.net') => ({ url: `https://${host}:${port}/` });
  const { network } = fakeNetwork(names, { ca });

  it('asks for the name and checks it, also with a dot at its end', async () => {
    const receiver = await openTlsReceiver(issue('hooks.example.net'));
    for (const host of ['hooks.example.net', 'hooks.example.net.'])
      expect(await send(0, at(receiver.port, host), { network })).toEqual(delivered);
    expect(receiver.names).toEqual(['hooks.example.net', 'hooks.example.net']);
    expect(receiver.received[0]?.headers.host).toBe(`hooks.example.net:${receiver.port}`);
  });

  it('checks an address in the URL', async () => {
    const { port, names } = await openTlsReceiver(issue('127.0.0.1'));
    expect(await send(0, at(port, '127.0.0.1'), { network })).toEqual(delivered);
    expect(names).toEqual([false]);
    const other = await openTlsReceiver(issue('127.0.0.2'));
    expect(await send(0, at(other.port, '127.0.0.1'), { network })).toEqual(failed('tls error'));
  });

  it.each([
    ['of another name', () => issue('other.example.net')],
    ['that is expired', () => issue('hooks.example.net', ours, -1)],
    ['that a stranger signed', () => issue('hooks.example.net', stranger)],
    [
      'that signed itself',
      () => ({ cert: readFileSync(stranger.file), key: readFileSync(stranger.file.replace('.pem', '.key')) }),
    ],
  ])('refuses a certificate %s, whatever the environment says', async (_name, make) => {
    const { port, received } = await openTlsReceiver(make());
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await send(0, at(port), { network })).toEqual(failed('tls error'));
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
    expect(received).toEqual([]);
  });

  it('trusts the usual authorities only, unless told', async () => {
    const { port } = await openTlsReceiver(issue('hooks.example.net'));
    expect(await send(0, at(port), fakeNetwork(names))).toEqual(failed('tls error'));
  });

  it('fails with a receiver that wants a certificate of ours', async () => {
    const { port, received } = await openTlsReceiver({ ...issue('hooks.example.net'), requestCert: true, ca });
    expect(await send(0, at(port), { network })).toEqual(failed('tls error'));
    expect(received).toEqual([]);
  });

  it('fails with a receiver that speaks none, hangs up or resets', async () => {
    const bad = [
      openTcpReceiver((socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n')),
      openTcpReceiver((socket) => void socket.end()),
      openTcpReceiver((socket) => void socket.on('data', () => socket.resetAndDestroy())),
    ];
    for (const { port } of await Promise.all(bad)) expect(await send(0, at(port), { network })).toEqual(failed('tls error'));
  });

  it('has no more time than the attempt', async () => {
    const { port, seen } = await openTcpReceiver();
    expect(await send(0, at(port), { network, timeoutMs: 200 })).toEqual(failed('timeout'));
    await expect.poll(() => seen.open).toBe(0);
  });
});
