import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_REVIEW } from '../../config/shared.js';
import type { Dialect } from '../../domain/statement.js';
import { createSqlClassifier, type SqlClassifier } from '../../sql/classify.js';
import { type MigrationReview, reviewMigrations } from '../../sql/review-migrations.js';
import { unhurried } from '../support/unhurried.js';

let classifier: SqlClassifier;
beforeAll(async () => {
  classifier = await createSqlClassifier(unhurried);
});
afterAll(() => classifier?.close());

async function reviewOf(
  texts: string[],
  dialect: Dialect,
  migrations: 'warn' | 'block' | 'off' = 'block',
): Promise<MigrationReview> {
  const verdict = await classifier.reviewMigrations(
    texts.map((sql) => ({ sql, transactional: true })),
    dialect,
  );
  if (!verdict.ok) throw new Error(verdict.reason);
  const versions = texts.map((_, index) => `v${index}`);
  return reviewMigrations(versions, verdict.reviewed, { rules: BUILTIN_REVIEW.rules, migrations });
}
const codes = ({ findings }: MigrationReview) =>
  findings.map(({ code, statementIndex, version }) => `${version}.${statementIndex} ${code}`);

describe('the statements of a migration under the review rules (HD-95)', () => {
  it.each<[string, Dialect, string[]]>([
    ['delete from items; drop table items', 'postgresql', ['v0.0 no_where_delete', 'v0.1 drop_table', 'v0.0 mixed_ddl_dml']],
    ['delete from items; drop table items', 'mysql', ['v0.0 no_where_delete', 'v0.1 drop_table', 'v0.0 mixed_ddl_dml']],
    ['with d as (delete from items returning 1) select count(*) from d', 'postgresql', ['v0.0 no_where_delete']],
    ['create table t (id int); update t set id = 1 where id = 2', 'postgresql', ['v0.0 mixed_ddl_dml']],
    ['truncate items', 'postgresql', ['v0.0 truncate']],
    // What is refused elsewhere hides nothing.
    ['alter table items owner to bob, drop column qty', 'postgresql', ['v0.0 drop_column']],
    ['grant all on items to bob; drop table items', 'postgresql', ['v0.1 drop_table']],
    [
      'create function f() returns int language sql as $$ select 1 $$; delete from items',
      'postgresql',
      ['v0.1 no_where_delete', 'v0.0 mixed_ddl_dml'],
    ],
    ['drop schema app cascade', 'postgresql', ['v0.0 drop_table']],
    ['drop schema app', 'postgresql', []],
    ['drop owned by bob', 'postgresql', ['v0.0 drop_table']],
    ['set statement_timeout = 0; delete from items', 'postgresql', ['v0.1 no_where_delete']],
    ['create index by_qty on items (qty)', 'postgresql', ['v0.0 create_index_not_concurrently']],
    ['drop database shop', 'mysql', ['v0.0 drop_table']],
    ['set statement max_statement_time = 1 for delete from items', 'mysql', ['v0.0 no_where_delete']],
    [
      'create procedure p() begin delete from items; drop table items; end; update items set qty = 0',
      'mysql',
      ['v0.1 no_where_update', 'v0.0 mixed_ddl_dml'],
    ],
    ['create table t (id int) engine = InnoDB', 'mysql', []],
    // What goes with a type, and what MariaDB and MySQL have no statement of its own for.
    ['drop type mood cascade', 'postgresql', ['v0.0 drop_column']],
    ['drop extension citext cascade', 'postgresql', ['v0.0 drop_column']],
    ['drop type mood', 'postgresql', []],
    ['alter type address drop attribute zip', 'postgresql', ['v0.0 drop_column']],
    ['alter table items drop partition p0, p1', 'mysql', ['v0.0 drop_table']],
    ['alter table items truncate partition all', 'mysql', ['v0.0 truncate']],
    ['alter table items engine = blackhole', 'mysql', ['v0.0 truncate']],
    ['alter table items discard tablespace', 'mysql', ['v0.0 truncate']],
    ['alter online table if exists items wait 5 drop column qty', 'mysql', ['v0.0 drop_column']],
    ['alter ignore table items nowait modify qty int', 'mysql', ['v0.0 alter_column_type']],
    ['create or replace table items (id int)', 'mysql', ['v0.0 drop_table']],
    ['create or replace temporary table items (id int)', 'mysql', []],
    ['drop sequence s', 'mysql', ['v0.0 drop_sequence']],
    ['delete history from items', 'mysql', ['v0.0 no_where_delete']],
    ['analyze format = json delete from items', 'mysql', ['v0.0 no_where_delete']],
    ['analyze table items', 'mysql', []],
  ])('%s on %s', async (sql, dialect, expected) => {
    expect(codes(await reviewOf([sql], dialect))).toEqual(expected);
  });

  it.each<[string, string[], boolean]>([
    ['do $$ begin delete from items; drop table items; end $$', ['no_where_delete', 'drop_table', 'mixed_ddl_dml'], true],
    ["do language plpgsql 'begin if true then truncate items; end if; end'", ['truncate'], true],
    ['do $$ begin null; exception when others then update items set qty = 0; end $$', ['no_where_update'], true],
    [
      'do $$ declare r record; begin for r in delete from items returning 1 loop null; end loop; end $$',
      ['no_where_delete'],
      true,
    ],
    ["do $$ begin execute 'drop table items'; end $$", ['drop_table'], true],
    ["do $$ declare c refcursor; begin open c for execute 'delete from items returning 1'; end $$", ['no_where_delete'], true],
    ["do $$ begin if not exists (select from pg_type) then create type mood as enum ('a'); end if; end $$", [], true],
    ['do $$ begin update items set qty = 0 where id = 1; perform now(); end $$', [], true],
    ["do $$ begin execute 'drop table ' || 'items'; end $$", [], false],
    ['do language plpython3u $$ plpy.execute("drop table items") $$', [], false],
    ['do $$ begin delet from items; end $$', [], false],
  ])('what a DO block runs at once counts, as far as it stands there: %s', async (sql, expected, understood) => {
    const found = await reviewOf([sql], 'postgresql');
    expect([found.findings.map(({ code }) => code), found.parseFailed]).toEqual([expected, !understood]);
    expect(found.bypassable).toBe(false);
  });

  it('a DO block that no parser takes harms no migration after it', async () => {
    const deep = `do $$ begin ${'if true then '.repeat(50_000)} null; ${'end if; '.repeat(50_000)} end $$`;
    const found = await reviewOf([deep, 'drop table a'], 'postgresql');
    expect([codes(found), found.parseFailed]).toEqual([['v1.0 drop_table'], true]);
  });

  it('each migration is a batch of its own', async () => {
    const found = await reviewOf(['create table t (id int)', 'update t set id = 1 where id = 2; delete from t'], 'postgresql');
    expect(codes(found)).toEqual(['v1.1 no_where_delete']);
  });

  it('block by their own actions, warn only, or are not looked for', async () => {
    const texts = ['delete from items', 'drop index i'];
    const actions = async (migrations: 'warn' | 'block' | 'off') => {
      const { findings, found, blocked } = await reviewOf(texts, 'postgresql', migrations);
      return { actions: findings.map(({ action }) => action), found, blocked };
    };
    expect(await actions('block')).toEqual({ actions: ['block', 'warn'], found: 2, blocked: true });
    expect(await actions('warn')).toEqual({ actions: ['warn', 'warn'], found: 2, blocked: false });
    expect(await actions('off')).toEqual({ actions: [], found: 0, blocked: false });
  });

  it('are lifted in an emergency as those of other texts (BG-3)', async () => {
    const lifted = async (...texts: string[]) => {
      const { rulesBypassable, bypassable } = await reviewOf(texts, 'postgresql');
      return [rulesBypassable, bypassable];
    };
    expect(await lifted('drop table items', 'create table t (id int)')).toEqual([true, true]);
    expect(await lifted('drop table items', 'create type mood as enum ()')).toEqual([true, false]);
    expect(await lifted('drop table items', 'delete from items')).toEqual([false, false]);
  });

  it('tell where a statement is not understood, and only there', async () => {
    expect((await reviewOf(['optimize the planet'], 'mysql')).parseFailed).toBe(true);
    for (const known of [
      'grant select on t to bob',
      'create trigger g before insert on t for each row set @x = 1',
      'call p()',
      "set names 'utf8mb4'",
    ])
      expect([known, (await reviewOf([known], 'mysql')).parseFailed]).toEqual([known, false]);
  });

  it('are at most a thousand of a bundle, counted to the last', async () => {
    const sql = 'delete from a;'.repeat(15_000);
    const found = await reviewOf([sql], 'postgresql');
    expect([found.findings.length, found.found, found.blocked]).toEqual([1000, 15_000, true]);
  }, 60_000);
});

describe('where a finding stands (MI-53)', () => {
  it.each<[string, Dialect, number[]]>([
    ['drop table a', 'postgresql', [1]],
    ['select 1;\n\n-- ä\n/* x\n;*/ drop table a;\nselect 2;drop\ntable b;\n  -- end\n', 'postgresql', [5, 6]],
    ['select 1;\r\n\r\n# ä\n/* x\n;*/ drop table a;\nselect 2;drop\ntable b', 'mysql', [5, 6]],
    ["select 'ä\n\n';drop table a", 'postgresql', [3]],
    ["select 'ä\n\n';drop table a", 'mysql', [3]],
  ])('%j on %s', async (sql, dialect, lines) => {
    expect((await reviewOf([sql], dialect)).findings.map(({ line }) => line)).toEqual(lines);
  });
});
