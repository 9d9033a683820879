import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMysqlDatabase, withMysql } from '../../support/mysql.js';
import { type MysqlBench, rowsText, startMysqlBench } from '../../support/mysql-agent.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';

const server = await openOwnMariadb(import.meta.url);
const address = server?.url() ?? '';

describe.skipIf(server === null)('what the classifier reads is what MariaDB does (HD-30)', () => {
  let before: Record<string, string>;
  let bench: MysqlBench;
  const globals = [
    'sql_mode',
    'init_connect',
    'foreign_key_checks',
    'sql_auto_is_null',
    'sql_select_limit',
    'default_storage_engine',
  ];
  const root = (sql: string) => withMysql(address, (connection) => connection.query(sql));
  beforeAll(async () => {
    const [rows] = (await root(`select ${globals.map((name) => `@@global.${name} as ${name}`).join(', ')}`)) as unknown as [
      Record<string, string>[],
    ];
    before = rows[0]!;
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    await root(`set global default_storage_engine = 'InnoDB'`);
  });
  afterEach(async () => {
    for (const name of globals)
      await withMysql(address, (connection) => connection.query(`set global ${name} = ?`, [before[name]]));
    await bench?.close();
  });

  /** An agent that meets a server with these settings. */
  async function start(settings: string, tables = ''): Promise<void> {
    await root(settings);
    const createDatabase = async () => {
      const database = await createMysqlDatabase(address);
      // What `init_connect` may not do ends the connection.
      await root(`grant create temporary tables on ${database.name}.* to '${database.name}_r'@'%'`);
      return database;
    };
    const one = { url: address, createDatabase };
    bench = await startMysqlBench(one, { tables });
    await bench.root.query(`set session sql_mode = ''; drop table if exists parts;
      create table parts (id int primary key, note varchar(100) not null) engine=InnoDB;
      insert into parts values (1, 'fine'), (2, 'fine'), (3, 'fine')`);
  }
  const changed = () => bench.value(`select count(*) from parts where note <> 'fine'`);

  it.each(['NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES', 'PIPES_AS_CONCAT', 'ORACLE', 'EMPTY_STRING_IS_NULL'])(
    'sql_mode %s of the server changes no text',
    async (mode) => {
      await start(`set global sql_mode = '${mode}'`);
      const text = `update parts set note = '\\\\' where id = 1 or note = "' or 1=1 -- " or ('1' || '2') = '12' or note is null`;
      expect(await bench.run('execute_dml', text)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
      expect(await changed()).toBe(1);
    },
  );

  it.each([
    `set global init_connect = "set session sql_mode = 'NO_BACKSLASH_ESCAPES'"`,
    `set global init_connect = 'set names latin1'`,
    `set global init_connect = 'set @@autocommit = 0'`,
    `set global init_connect = 'create temporary table parts (id int primary key, note varchar(100))'`,
    `set global init_connect = 'use information_schema'`,
    `set global init_connect = 'set @@session.timestamp = 1'`,
  ])('%s changes no text', async (settings) => {
    await start(settings);
    const text = `update parts set note = 'ä\\'' where id = 1 and now() > '2000-01-01'`;
    expect(await bench.run('execute_dml', text)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
    expect(await bench.value(`select note from parts where id = 1`)).toBe("ä'");
  });

  it('foreign keys, the rows of a read and IS NULL are what they are, whatever the server begins a session with', async () => {
    await start('set global foreign_key_checks = 0, global sql_select_limit = 1, global sql_auto_is_null = 1');
    await bench.root.query(
      'create table children (id int primary key auto_increment, part int, foreign key (part) references parts (id)) engine=InnoDB',
    );
    expect(rowsText(await bench.run('execute_select', 'select id from parts'))).toBe('[{"id":1},{"id":2},{"id":3}]');
    const orphan = await bench.run('execute_dml', 'insert into children (part) values (99)');
    expect(orphan).toMatchObject({ outcome: 'rolled_back', error_message: expect.stringContaining('1452') });
    const none = 'insert into children (part) values (1); update children set part = 2 where id is null';
    expect(await bench.run('execute_dml', none)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
  });

  it('a procedure that leaves settings behind changes no later statement of its text, and no later text', async () => {
    await start(`set global sql_mode = ''`, '');
    await bench.root.query(`create procedure loose() begin
        set session sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES', session foreign_key_checks = 0; set names latin1; end`);
    const text = `update parts set note = 'ä\\'' where id = 1 or note = "\\" or 1=1 -- "`;
    expect(await bench.run('execute_dml', `call loose(); ${text}`)).toMatchObject({ outcome: 'committed', rows_affected: 1 });
    expect(await bench.value('select note from parts where id = 1')).toBe("ä'");
    expect(await bench.run('execute_dml', text.replace('id = 1', 'id = 2'))).toMatchObject({ rows_affected: 1 });
    expect(await changed()).toBe(2);
    await bench.root.query('create table children (part int, foreign key (part) references parts (id)) engine=InnoDB');
    const orphan = await bench.run('execute_dml', 'call loose(); insert into children values (99)');
    expect(orphan).toMatchObject({ outcome: 'partial', error_message: expect.stringContaining('1452') });
  });
});
