import type { RowDataPacket } from 'mysql2';
import { afterAll, describe, expect, it } from 'vitest';
import { createSqlClassifier } from '../../../sql/classify.js';
import { isListedCall, isListedTable } from '../../../sql/listed-calls.js';
import { builtInOfMysql } from '../../../sql/mysql/built-ins.js';
import { withMysql } from '../../support/mysql.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { didHarm, openWatched, runWatched, wasStopped } from '../../support/write-watch.js';

const server = await openOwnMariadb(import.meta.url);
afterAll(() => server?.stop());

const NO_RIGHT_TO_EXECUTE = 1370;

/** Lists of arguments, at least one of which fits most functions. */
const argumentLists = [
  ...['', "'a'", '1', "'a', 1", "1, 'a'", "'0-1-100', 5", "'a', 1, 5", "'a', 'b'", '1, 1', "'a', 'b', 'c'"],
  ...["'{}', '$'", "'binlog.000009', 4, 5", 'now()', 'now(), 1', '1, 1, 1', "'a', 1, 1, 1"],
];

describe.skipIf(server === null)(
  'the functions of the real server',
  () => {
    it('SQ-45: none that writes, locks or waits is missing from the list', async () => {
      const connection = await openWatched(server!.url('mysql'), 300);
      const [functions] = await connection.query<RowDataPacket[]>(
        'select function as name from information_schema.sql_functions',
      );
      const harmful: string[] = [];
      let called = 0;
      for (const { name } of functions) {
        if (isListedCall(name)) continue;
        for (const list of argumentLists) {
          const effects = await runWatched(connection, [`select ${name}(${list})`]);
          if (effects.errors[0] === null) called += 1;
          if (didHarm(effects) || wasStopped(effects)) harmful.push(`${name}(${list})`);
        }
      }
      connection.destroy();
      expect(harmful).toEqual([]);
      expect(functions.length).toBeGreaterThan(200);
      expect(called).toBeGreaterThan(500);
    });

    it('SQ-45: a read of a table that sets counters back does so in a read-only transaction, and is listed', async () => {
      const connection = await openWatched(server!.url('mysql'), 300);
      const [tables] = await connection.query<RowDataPacket[]>(
        `select table_name as name from information_schema.tables where table_schema = 'information_schema' and table_name like '%\\_reset'`,
      );
      expect(tables.map(({ name }) => String(name)).filter((name) => !isListedTable(name))).toEqual([]);
      const pages = async (table: string) => {
        const [[row]] = await connection.query<RowDataPacket[]>(
          `select sum(compress_ops) as pages from information_schema.${table}`,
        );
        return Number(row?.pages);
      };
      await connection.query('create database counted');
      await connection.query('create table counted.t (a int primary key, b text) engine=InnoDB row_format=compressed');
      // The server folds letters outside ASCII too.
      for (const [at, name] of ['innodb_cmp_reset', 'İnnodb_cmp_reset'].entries()) {
        await connection.query(`insert into counted.t select seq + ${at * 500}, repeat('x', 2000) from counted.seq_1_to_500`);
        await connection.query('start transaction read only');
        expect(isListedTable(name)).toBe(true);
        expect(await pages(name)).toBeGreaterThan(0);
        expect(await pages('innodb_cmp')).toBe(0);
        await connection.query('rollback');
      }
      connection.destroy();
    });

    it('HD-21: a stored function counts whatever its name, where the server calls it and not its own', async () => {
      const admin = await openWatched(server!.url('mysql'), 300);
      await admin.query('create database stored');
      await admin.query('create table stored.t (id int primary key, x int)');
      await admin.query("create user teller identified by 'told'");
      await admin.query('grant select, update on stored.t to teller');
      const [rows] = await admin.query<RowDataPacket[]>(
        'select lower(word) as name from information_schema.keywords union select lower(function) from information_schema.sql_functions',
      );
      const names = rows.map(({ name }) => String(name)).filter((name) => /^\w+$/.test(name));
      for (const name of names) await admin.query(`create function stored.\`${name}\`(a int) returns int deterministic return a`);
      const url = Object.assign(new URL(server!.url('stored')), { username: 'teller', password: 'told' }).href;
      const stored: string[] = [];
      await withMysql(url, async (connection) => {
        await connection.query("set sql_mode = ''");
        for (const call of names.flatMap((name) => [`${name}(1)`, `${name} (1)`])) {
          const error = await connection.query(`explain update t set x = ${call} where id = 1`).catch((thrown) => thrown);
          if (error.errno === NO_RIGHT_TO_EXECUTE) stored.push(call);
        }
      });
      admin.destroy();
      const sql = await createSqlClassifier();
      const unseen: string[] = [];
      for (const call of stored) {
        const text = `update t set x = ${call} where id = 1`;
        const verdict = await sql.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
        const [facts] = verdict.verdict === 'accepted' ? verdict.facts : [];
        if (facts && facts.unlisted.length === 0 && !facts.listedCall) unseen.push(call);
      }
      await sql.close();
      expect(unseen).toEqual([]);
      expect(stored.length).toBeGreaterThan(300);
    });

    it('HD-1: each has a verdict, and none is called harmless that is listed', async () => {
      const connection = await openWatched(server!.url('mysql'), 300);
      const [functions] = await connection.query<RowDataPacket[]>(
        'select lower(function) as name from information_schema.sql_functions',
      );
      connection.destroy();
      const names = functions.map(({ name }) => String(name));
      const without = names.filter((name) => builtInOfMysql('functions', name) === null && !isListedCall(name));
      expect(without).toEqual([]);
      expect(names.filter((name) => builtInOfMysql('functions', name) !== null && isListedCall(name))).toEqual([]);
    });

    it('HD-1: none that computes gives what a table or a file holds', async () => {
      const connection = await openWatched(server!.url('mysql'), 300);
      await connection.query('create database told');
      await connection.query("create table told.t (a int primary key, b text) select 1 as a, 'kept in a table' as b");
      const [functions] = await connection.query<RowDataPacket[]>(
        'select lower(function) as name from information_schema.sql_functions',
      );
      const telling: string[] = [];
      for (const { name } of functions.filter((each) => builtInOfMysql('functions', each.name) === 'computes'))
        for (const list of ["'told.t'", "'told', 't'", "'select b from told.t'", "'/etc/passwd'"]) {
          const text = await connection.query(`select ${name}(${list}) as a`).then(([rows]) => JSON.stringify(rows), String);
          if (/kept in a table|root:/.test(text)) telling.push(`${name}(${list})`);
        }
      connection.destroy();
      expect(telling).toEqual([]);
    });

    it('the watch itself sees a lock, a wait and a write', async () => {
      const connection = await openWatched(server!.url(), 300);
      await connection.query('create database watched');
      await connection.query('create sequence watched.s');
      expect(await runWatched(connection, ["select get_lock('a', 1)"])).toMatchObject({ locks: 1, rows: 0 });
      expect(wasStopped(await runWatched(connection, ["select master_gtid_wait('0-1-100', 5)"]))).toBe(true);
      await connection.query('create table watched.t (a int)');
      expect((await runWatched(connection, ['insert into watched.t values (1)', 'select 1', 'delete from watched.t'])).rows).toBe(
        2,
      );
      connection.destroy();
    });
  },
  240_000,
);
