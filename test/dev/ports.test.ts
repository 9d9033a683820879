import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort, requirePort } from '../../dev/ports.js';

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
