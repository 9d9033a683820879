import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild, waitUntilReady } from '../dev/child.js';
import { withClient } from '../dev/database-client.js';
import { clone } from '../dev/layout.js';
import { freePort } from '../dev/ports.js';
import type { PostgresServer } from '../dev/postgres.js';
import { createSession, type Session } from '../dev/session.js';
import { type Caller, createCaller } from './caller.js';

export interface Floor {
  caller: Caller;
  /** PostgreSQL too, which it shares with the gateway. */
  processes: readonly Child[];
  stop(): Promise<void>;
}

/** Starts the floor's server and agent as processes of their own, on a new database in the PostgreSQL of the gateway. */
export async function startFloor(postgres: PostgresServer, logFolder: string): Promise<Floor> {
  const callerToken = randomUUID();
  const agentToken = randomUUID();
  await prepareDatabase(postgres, { callerToken, agentToken });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const session = createSession();
  const start = programStarter(session, logFolder);
  try {
    const server = start('floor-server', { FLOOR_PORT: String(port), FLOOR_DATABASE: postgres.url('floor') });
    await waitUntilReady(server, () => answers(url), session.signal);
    const target = postgres.url('shop_staging');
    const agent = start('floor-agent', { FLOOR_URL: url, FLOOR_TOKEN: agentToken, FLOOR_TARGET: target });
    const caller = createCaller(url, callerToken);
    const stop = async () => {
      caller.close();
      await session.stop();
      const failure = session.failure();
      if (failure !== null) throw new Error(failure);
    };
    return { caller, processes: [postgres.child, server, agent], stop };
  } catch (error) {
    await session.stop();
    throw error;
  }
}

async function prepareDatabase(postgres: PostgresServer, tokens: { callerToken: string; agentToken: string }): Promise<void> {
  await withClient(postgres.url('postgres'), (client) => client.query('create database floor'));
  await withClient(postgres.url('floor'), async (client) => {
    await client.query(readFileSync(join(clone, 'bench', 'floor.sql'), 'utf8'));
    const hashes = [tokens.callerToken, tokens.agentToken].map((token) => createHash('sha256').update(token).digest('hex'));
    await client.query(
      `insert into credentials (hash, subject, kind, expires_at)
       values ($1, 'alice', 'caller', now() + interval '1 day'), ($2, 'agent', 'agent', now() + interval '1 day')`,
      hashes,
    );
  });
}

function programStarter(session: Session, logFolder: string) {
  return (name: string, environment: Record<string, string>): Child => {
    const child = startChild({
      name: `the ${name.replace('-', "'s ")}`,
      file: process.execPath,
      args: ['--import', 'tsx', join(clone, 'bench', `${name}.ts`)],
      logFile: join(logFolder, `${name}.log`),
      deathSignal: 'SIGKILL',
      environment: { ...process.env, ...environment },
      cwd: clone,
    });
    session.add({ child, stop: () => child.stop('SIGTERM', 5000) });
    return child;
  };
}

export const answers = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );
