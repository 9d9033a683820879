import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { login, runSvc } from './run-svc.js';

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** A server that answers the first bytes of each connection with this text, or not at all; its address. */
async function answering(text: string): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', () => void (text !== '' && socket.write(text)));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const errorOf = async (environment: Record<string, string>, more: Parameters<typeof runSvc>[1] = {}) => {
  const { code, stdout } = await runSvc(['whoami', '--json'], { environment, ...more });
  return { code, error: JSON.parse(stdout).error };
};

describe('a server or a proxy that gives no answer', () => {
  it('ends a command although it switches to another protocol that nobody asked for (CL-I2)', async () => {
    const url = await answering('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello');
    expect(await errorOf(login(url))).toMatchObject({
      code: 1,
      error: { code: 'network_error', message: expect.stringContaining('the server answered 101') },
    });
  });

  it('is told to a person while the command still waits for it, and to no script (CL-10)', async () => {
    const url = await answering('');
    const limits = { silenceMs: 30, callMs: 200 };
    const told = `${url} has not answered yet ...\n`;
    const { stderr } = await runSvc(['whoami'], { environment: login(url), limits });
    expect(stderr).toMatch(new RegExp(`^${told}error: whoami: could not reach`));
    const json = await runSvc(['whoami', '--json'], { environment: login(url), limits });
    expect(json.stderr).not.toContain(told);
  });

  it('ends a command by the time of a connection while a proxy opens no tunnel (CL-10)', async () => {
    const proxy = { ...login('https://gate.example.com'), HTTPS_PROXY: await answering('') };
    expect(await errorOf(proxy, { limits: { connectMs: 50 } })).toMatchObject({
      code: 1,
      error: { code: 'network_error', message: expect.stringContaining('no connection within 0.05 s') },
    });
  });

  it('ends a command at once at Ctrl-C while a proxy opens no tunnel', async () => {
    const proxy = { ...login('https://gate.example.com'), HTTPS_PROXY: await answering('') };
    const started: Parameters<typeof runSvc>[1] = {
      started: ({ interrupt }) => {
        const waiting = setInterval(() => {
          if (sockets.size === 0) return;
          clearInterval(waiting);
          interrupt();
        }, 5);
      },
    };
    expect(await errorOf(proxy, started)).toMatchObject({ code: 130, error: { code: 'interrupted' } });
  });
});
