import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelStatement } from '../../agent/drivers/cancel.js';
import type { Engine } from '../../agent/drivers/engine.js';
import { mysqlEngine } from '../../agent/drivers/mysql/engine.js';
import { createMysqlPool } from '../../agent/drivers/mysql/pool.js';
import { postgresEngine } from '../../agent/drivers/postgres/engine.js';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import type { Session, SessionPool } from '../../agent/drivers/session.js';
import { defaultTimings } from '../../agent/timings.js';
import { otherUser } from '../../dev/postgres-programs.js';
import { createAuthority } from '../support/certificates.js';
import { findMysql, withMysql } from '../support/mysql.js';
import { openOwnMariadb } from '../support/own-mariadb.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { askOwn } from '../support/unsaved-ids.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
chmodSync(folder, 0o755);
const authority = createAuthority(folder, 'ours');
const stranger = createAuthority(folder, 'stranger');
const certificate = (host: string) => authority.issue(host, folder, otherUser('the database'));
certificate('localhost');

const NOT_TRUSTED = 'HANDSHAKE_SSL_ERROR, the certificate is not trusted, or of another host';
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
const unencrypted = await findMysql(import.meta.url);
const mariadb = await openOwnMariadb(import.meta.url, [`ssl-cert=${files.cert}`, `ssl-key=${files.key}`]);

afterAll(async () => {
  await mariadb?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const options = { readOnly: false, max: 1, maxRowBytes: 1e6, connectTimeoutMs: 10_000 };

/** How a session of the pool is protected, by a question to the server; throws what connecting throws. */
async function ask<S extends Session>(pool: SessionPool<S>, question: string): Promise<(string | null)[] | undefined> {
  try {
    const session = await pool.open();
    try {
      return (await session.query(question))[0];
    } finally {
      await session.release();
    }
  } finally {
    await pool.close();
  }
}

/** Starts a statement that takes a minute and cancels it. */
async function cancelOne<S extends Session>(pool: SessionPool<S>, engine: Engine<S>, sleeping: string): Promise<void> {
  const session = await pool.open();
  const ended = new AbortController();
  const running = session.query(sleeping).finally(() => ended.abort());
  const target = { pool, engine, timings: { ...defaultTimings, cancelRepeatMs: 200 }, graceMs: 0 };
  await Promise.all([
    cancelStatement(session, target, ended.signal),
    expect(running).rejects.toSatisfy(engine.errors.isInterrupt),
  ]);
  await session.release();
  await pool.close();
}

describe.skipIf(mariadb === null)('TLS to a MariaDB target', () => {
  const address = (query: string, account = 'svc_tls:test') => `mysql://${account}@localhost:${mariadb!.port}/${query}`;
  const pool = (query: string) => createMysqlPool({ ...options, url: address(query) });
  const version = (query: string) => ask(pool(query), `show session status like 'Ssl_version'`);
  const root = (sql: string) => withMysql(mariadb!.url(), (connection) => connection.query(sql));
  beforeAll(async () => {
    await root(`create user svc_tls@'%' identified by 'test' require ssl`);
  });

  it('connects with the modes that its certificate satisfies', async () => {
    const encrypted = ['Ssl_version', expect.stringMatching(/^TLSv1\.[23]$/)];
    expect(await version('?ssl-mode=REQUIRED')).toEqual(encrypted);
    expect(await version(`?ssl-ca=${authority.file}`)).toEqual(encrypted);
    expect(await version(`?ssl-mode=VERIFY_CA&ssl-ca=${authority.file}`)).toEqual(encrypted);
    expect(await version(`?ssl-mode=VERIFY_IDENTITY&ssl-ca=${authority.file}`)).toEqual(encrypted);
  });

  it('does not fall back to a connection without TLS', async () => {
    const plain = `${unencrypted!.url}?ssl-mode=REQUIRED`;
    await expect(ask(createMysqlPool({ ...options, url: plain }), 'select 1')).rejects.toMatchObject({
      kind: 'connection',
      message: 'HANDSHAKE_NO_SSL_SUPPORT, the server has no TLS',
    });
  });

  it('AP-05: an account that needs TLS refuses an address without', async () => {
    await expect(version('')).rejects.toMatchObject({ kind: 'authentication' });
  });

  it('does not connect when the certificate is of another authority, and tells no host', async () => {
    for (const mode of ['VERIFY_CA', 'VERIFY_IDENTITY']) {
      await expect(version(`?ssl-mode=${mode}&ssl-ca=${stranger.file}`)).rejects.toMatchObject({
        kind: 'connection',
        message: NOT_TRUSTED,
      });
      await expect(version(`?ssl-mode=${mode}`)).rejects.toMatchObject({ message: NOT_TRUSTED });
    }
  });

  it('AP-42: KILL QUERY goes over TLS too', async () => {
    await cancelOne(pool(`?ssl-mode=VERIFY_IDENTITY&ssl-ca=${authority.file}`), mysqlEngine, 'select sleep(60) from dual');
  });

  it('VERIFY_IDENTITY alone refuses a certificate for another host', async () => {
    certificate('db.internal');
    await root('flush ssl');
    try {
      await expect(version(`?ssl-mode=VERIFY_IDENTITY&ssl-ca=${authority.file}`)).rejects.toMatchObject({
        kind: 'connection',
        message: NOT_TRUSTED,
      });
      expect(await version(`?ssl-mode=VERIFY_CA&ssl-ca=${authority.file}`)).toMatchObject(['Ssl_version', /TLS/]);
    } finally {
      certificate('localhost');
      await root('flush ssl');
    }
  });
});

describe('TLS to a PostgreSQL target', () => {
  let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
  const loadedAt = async () => (await askOwn(postgres.url, 'select pg_conf_load_time()::text as at'))[0]!.at;
  const change = async (...statements: string[]) => {
    const before = await loadedAt();
    for (const statement of [...statements, 'select pg_reload_conf()']) await askOwn(postgres.url, statement);
    await eventually(async () => (await loadedAt()) !== before);
  };
  const address = (query: string) => {
    const url = Object.assign(new URL(postgres.url('postgres')), { hostname: 'localhost' });
    return `${url.href}?${query}`;
  };
  const pool = (query: string) => createPostgresPool({ ...options, url: address(query) });
  const encrypted = (query: string) => ask(pool(query), 'select ssl from pg_stat_ssl where pid = pg_backend_pid()');

  beforeAll(async () => {
    postgres = await openOwnPostgres();
    await change(
      `alter system set ssl_cert_file = '${files.cert}'`,
      `alter system set ssl_key_file = '${files.key}'`,
      'alter system set ssl = on',
    );
  });
  afterAll(() => postgres?.close());

  it('does not fall back to a connection without TLS', async () => {
    await change('alter system set ssl = off');
    try {
      for (const mode of ['require', 'verify-full', 'no-verify'])
        await expect(encrypted(`sslmode=${mode}`)).rejects.toMatchObject({
          kind: 'connection',
          message: 'HANDSHAKE_NO_SSL_SUPPORT, the server has no TLS',
        });
    } finally {
      await change('alter system set ssl = on');
    }
  });

  it('connects with the modes that its certificate satisfies', async () => {
    expect(await encrypted(`sslmode=verify-full&sslrootcert=${authority.file}`)).toEqual(['t']);
    expect(await encrypted('sslmode=no-verify')).toEqual(['t']);
    expect(await encrypted('')).toEqual(['f']);
  });

  it('does not connect when the certificate is of another authority, and tells no host', async () => {
    for (const query of [`sslmode=verify-full&sslrootcert=${stranger.file}`, 'sslmode=verify-full', 'sslmode=require'])
      await expect(encrypted(query)).rejects.toMatchObject({
        kind: 'connection',
        message: expect.stringMatching(/the certificate is not trusted$/),
      });
    await expect(encrypted('sslmode=verify-full&sslrootcert=/nowhere.pem')).rejects.toMatchObject({
      message: 'ENOENT, a file that the address names is not there',
    });
  });

  it('AP-42: a cancel request reaches the server', async () => {
    await cancelOne(pool(`sslmode=verify-full&sslrootcert=${authority.file}`), postgresEngine, 'select pg_sleep(60)');
  });

  it('refuses a certificate for another host', async () => {
    certificate('db.internal');
    await change();
    try {
      await expect(encrypted(`sslmode=verify-full&sslrootcert=${authority.file}`)).rejects.toMatchObject({
        kind: 'connection',
        message: 'ERR_TLS_CERT_ALTNAME_INVALID, the certificate is of another host',
      });
    } finally {
      certificate('localhost');
      await change();
    }
  });
});
