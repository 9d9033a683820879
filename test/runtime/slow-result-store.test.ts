import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openS3ResultStore } from '../../runtime/result-store-s3.js';
import { type S3Config, s3Storage } from '../support/s3.js';

const s3 = await s3Storage(import.meta.url);

/** Passes on what a connection sends only after so long, like a narrow link. */
async function startSlowLink(target: string, holdMs: number) {
  const { hostname, port } = new URL(target);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    upstream.pipe(client);
    sleep(holdMs).then(() => client.pipe(upstream));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

it.skipIf(s3 === null)(
  'a large object may take longer to be sent than an answer may take to begin (RS-48)',
  async () => {
    const config = s3 as S3Config;
    const link = await startSlowLink(config.endpoint!, 6000);
    try {
      const text = randomBytes(8 * 1024 * 1024);
      const put = await openS3ResultStore({ ...config, endpoint: link.url }).put('r1/large', text);
      expect([put.length, put.existed]).toEqual([text.length, false]);
    } finally {
      link.close();
    }
    expect(await openS3ResultStore(config).has('r1/large')).toBe(true);
  },
  60_000,
);
