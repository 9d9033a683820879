import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { fetchJson } from '../../../runtime/oidc/fetch-json.js';

let close = () => {};
afterEach(() => close());

async function providerThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
}

describe('what an identity provider sends (IM-32)', () => {
  it('is read as JSON', async () => {
    expect(await fetchJson(await providerThat((_, response) => response.end('{"keys": []}')))).toEqual({ keys: [] });
  });

  it('must come in time, though each byte of it may', async () => {
    const slow = await providerThat((_, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    });
    await expect(fetchJson(slow, 200)).rejects.toThrow(/timeout|aborted/i);
    const silent = await providerThat(() => {});
    await expect(fetchJson(silent, 200)).rejects.toThrow(/timeout|aborted/i);
  });

  it('is not read beyond 1 MiB', async () => {
    let sent = 0;
    const endless = await providerThat((_, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      more();
    });
    await expect(fetchJson(endless)).rejects.toThrow('larger than 1 MiB');
    expect(sent).toBeLessThan(10 * 1_048_576);
  });

  it('is not fetched from where it is sent on to', async () => {
    const asked: string[] = [];
    const moved = await providerThat((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    await expect(fetchJson(moved)).rejects.toThrow();
    expect(asked).toEqual(['/keys']);
  });
});
