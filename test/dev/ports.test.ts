import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runDev } from '../../dev/main.js';
import { coverIpv6, freePort, requirePort } from '../../dev/ports.js';
import { hasIpv6 } from '../support/ipv6.js';
import { temporaryFolder } from '../support/processes.js';

describe('the ports of svc dev', () => {
  afterEach(() => {
    delete process.env.PORT;
  });

  it('are refused with a way out when they are taken (DV-5)', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    process.env.PORT = String(port);
    await expect(requirePort('PORT', 3000)).rejects.toThrow(`port ${port} is in use; try PORT=${port + 10} npm start`);
    await new Promise((resolve) => server.close(resolve));
    expect(await requirePort('PORT', 3000)).toBe(port);
  });

  it.runIf(hasIpv6)('are refused when they are taken on ::1 only, which localhost may mean (DV-5)', async () => {
    const port = await freePort();
    await listening(createServer(), port, '::1');
    await expect(requirePort('PORT', port)).rejects.toThrow(`port ${port} is in use; try PORT=${port + 10} npm start`);
    await expect(coverIpv6(port)).rejects.toThrow(`port ${port} of ::1 is in use`);
  });

  it.runIf(hasIpv6)("are nobody else's on ::1 while it runs: who calls there reaches what listens on 127.0.0.1", async () => {
    const port = await freePort();
    const end = await coverIpv6(port);
    onTestFinished(end);
    await expect(listening(createServer(), port, '::1')).rejects.toThrow('EADDRINUSE');
    await expect(once(connect(port, '::1').resume(), 'end')).rejects.toThrow('ECONNRESET');
    await listening(
      createHttpServer((request, response) => request.pipe(response)),
      port,
      '127.0.0.1',
    );
    const body = 'x'.repeat(1_000_000);
    expect(await (await fetch(`http://[::1]:${port}`, { method: 'POST', body })).text()).toBe(body);
    end();
    await listening(createServer(), port, '::1');
  });

  it('are refused when two parts would get the same one, before anything starts (DV-5)', async () => {
    const port = await freePort();
    process.env.PORT = process.env.SVC_UI_PORT = String(port);
    onTestFinished(() => void delete process.env.SVC_UI_PORT);
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const code = await runDev({ config: null, data: await temporaryFolder(), reset: false, oidc: false });
    const texts = said.mock.calls.map(([text]) => text);
    said.mockRestore();
    expect([code, texts]).toEqual([1, [`error: port ${port} is in use; try SVC_UI_PORT=${port + 10} npm start\n`]]);
  });

  it('come from the usual number when the variable is empty', async () => {
    const usual = await freePort();
    process.env.PORT = '';
    expect(await requirePort('PORT', usual)).toBe(usual);
  });

  it.each(['0', '65536', '3000x', '-1', ' '])('refuse %j', async (text) => {
    process.env.PORT = text;
    await expect(requirePort('PORT', 3000)).rejects.toThrow(/^PORT: .* is not a port number$/);
  });
});

/** Listens until the end of the test. */
async function listening(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  onTestFinished(() => void server.close());
}
