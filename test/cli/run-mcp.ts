import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Loose } from '../support/api.js';
import { eventually } from '../support/processes.js';

export const launcher = join(import.meta.dirname, '../../bin/svc');

/** A folder with three migration files, and the environment of a caller in it. */
export function migrationsFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'svc-mcp-'));
  mkdirSync(join(path, 'migrations'));
  for (const version of ['1', '2', '3']) {
    const text = `-- migrate:up\ncreate table t${version} (id int);\n\n-- migrate:down\ndrop table t${version};\n`;
    writeFileSync(join(path, 'migrations', `${version}_t.sql`), text);
  }
  return { path, remove: () => rmSync(path, { recursive: true }) };
}

export const bridgeEnvironment = (url: string, token: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  SVC_SERVER_URL: url,
  SVC_TOKEN: token,
  SVC_DATABASE: 'shop',
});

export interface RawBridge {
  child: ChildProcessWithoutNullStreams;
  /** Writes a line as it is, or a message. */
  send(line: string | Uint8Array | object): void;
  /** What it has written so far, each line parsed: nothing but JSON may come. */
  messages(): Loose[];
  lines(): string[];
  /** Waits for the answer to an id. */
  answer(id: unknown): Promise<Loose>;
  /** `initialize` and `notifications/initialized`. */
  open(capabilities?: object): Promise<void>;
  log(): string;
  exited: Promise<number | string>;
}

/** `svc mcp` as a client starts it, message by message. */
export function startBridge(url: string, token: string, directory: string): RawBridge {
  const child = spawn(process.execPath, [launcher, 'mcp'], { cwd: directory, env: bridgeEnvironment(url, token) });
  let out = '';
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    log += part;
  });
  child.stdin.on('error', () => {});
  const lines = () => out.split('\n').slice(0, -1);
  const messages = () => lines().map((line) => JSON.parse(line) as Loose);
  const send: RawBridge['send'] = (line) => {
    const isRaw = typeof line === 'string' || line instanceof Uint8Array;
    child.stdin.write(isRaw ? line : JSON.stringify({ jsonrpc: '2.0', ...line }));
    child.stdin.write('\n');
  };
  const answer = async (id: unknown) => {
    const find = () => messages().find((message) => message.id === id && message.method === undefined);
    await eventually(() => find() !== undefined || child.exitCode !== null, 60_000);
    const found = find();
    if (found === undefined) throw new Error(`no answer to ${id}: ${out}\n${log}`);
    return found;
  };
  return {
    child,
    send,
    lines,
    messages,
    answer,
    async open(capabilities = {}) {
      const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: { name: 'raw', version: '1' } };
      send({ id: 'open', method: 'initialize', params });
      await answer('open');
      send({ method: 'notifications/initialized' });
    },
    log: () => log,
    exited: new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal ?? ''))),
  };
}
