import type { LookupAddress } from 'node:dns';
import { lookup as lookUp } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as startTls } from 'node:tls';
import { refusedHost } from '../config/addresses.js';
import { within } from '../lib/deadline.js';
import { longestTimerMs } from '../lib/sleep.js';

/** Why there is no connection. Names neither the host nor an address. */
export type ConnectFailure =
  | 'timeout'
  | 'connection refused'
  | 'tls error'
  | 'dns error'
  | 'address not allowed'
  | 'network error';

/** Access to the network; tests supply their own. */
export interface Network {
  /** All addresses of a name, as the system knows them. */
  lookup(host: string): Promise<LookupAddress[]>;
  connect(options: TcpNetConnectOpts): Socket;
  /** Certificates to trust instead of the system's. */
  ca?: string;
}

export const systemNetwork: Network = { lookup: oneAtATime((host) => lookUp(host, { all: true })), connect };

/**
 * Attempts that ask for a name while it is being looked up share the answer. The system's lookups cannot be stopped, and Node runs
 * 16 at a time (bin/start.cjs): without this, the attempts at one host with a dead name server would hold up everybody else's.
 */
export function oneAtATime(lookup: Network['lookup']): Network['lookup'] {
  const running = new Map<string, ReturnType<Network['lookup']>>();
  return (host) => {
    const answer = running.get(host) ?? lookup(host).finally(() => running.delete(host));
    running.set(host, answer);
    return answer;
  };
}

export interface GuardedConnectOptions {
  allowPrivateNetworks: boolean;
  /** Ends each step of the connection. */
  signal: AbortSignal;
  network: Network;
}

/** How long one of several addresses may take to answer. Node's default is 250 ms, less than a distant receiver needs; after that it tries the next one. */
const addressMs = 1500;

/**
 * Connects to the host of an http or https URL, with TLS for https. The name is looked up each time, all its addresses must be
 * allowed, and the connection goes to one of them (NT-41, NT-43, NT-44). No other code may connect to a host that an operator
 * names for deliveries. The caller destroys the socket.
 */
export async function connectGuarded(url: URL, options: GuardedConnectOptions): Promise<Socket | ConnectFailure> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isRefused = (address: string) => refusedHost(address, options.allowPrivateNetworks) !== null;
  if (isRefused(host)) return 'address not allowed';
  const addresses = await addressesOf(host, options);
  if (addresses.length === 0) return 'dns error';
  if (addresses.some(({ address }) => isRefused(address))) return 'address not allowed';
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const socket = await connectTo({ host, port, addresses }, options);
  if (typeof socket === 'string') return socket;
  // Whatever happened between the check and the connection: this address would get the bytes.
  if (isRefused(socket.remoteAddress ?? '0.0.0.0')) {
    socket.destroy();
    return 'address not allowed';
  }
  return url.protocol === 'https:' ? await secure(socket, host, options) : socket;
}

/** Empty if the name has no address, or if none is known in time. */
async function addressesOf(host: string, { network, signal }: GuardedConnectOptions): Promise<LookupAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  // A lookup cannot be stopped. Its answer is not waited for when the signal aborts.
  return await within(network.lookup(host), longestTimerMs, [], signal).catch(() => []);
}

interface Place {
  host: string;
  port: number;
  addresses: LookupAddress[];
}

async function connectTo(
  { host, port, addresses }: Place,
  { network, signal }: GuardedConnectOptions,
): Promise<Socket | ConnectFailure> {
  const lookup: LookupFunction = (_host, _options, done) => done(null, addresses);
  const socket = network.connect({ host, port, lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: addressMs });
  return await opened(socket, 'connect', signal).catch(causeOf);
}

function causeOf(error: unknown): ConnectFailure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ECONNREFUSED') return 'connection refused';
  return code === 'ETIMEDOUT' ? 'timeout' : 'network error';
}

/** Settings of the environment do not switch off the check of the certificate. */
async function secure(
  socket: Socket,
  host: string,
  { network, signal }: GuardedConnectOptions,
): Promise<Socket | ConnectFailure> {
  const servername = isIP(host) === 0 ? host.replace(/\.$/, '') : '';
  const trust = network.ca === undefined ? {} : { ca: network.ca };
  const tls = startTls({ socket, host, servername, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true, ...trust });
  return await opened(tls, 'secureConnect', signal).catch(() => {
    socket.destroy();
    return 'tls error';
  });
}

/** The socket after its event. Destroys it if it fails first, or when the signal aborts before. */
async function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  // A socket may fail more than once. Only the awaited event counts.
  socket.on('error', () => {});
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
