import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { healthyParser, type Parser } from '../../sql/postgres/parser.js';
import { breakingParts } from './additions.js';

const folder = new URL('../../db/migrations/', import.meta.url);
const all = readdirSync(folder).map((name) => ({ name, number: Number.parseInt(name, 10) }));

/** An upgrade to the version of these stops everything first (CHANGELOG). */
const lastOfFirstVersion = 31;

/** Migrations after them that are not named as breaking, which the version before works with all the same, and why. */
const judged: Readonly<Record<string, string>> = {
  '34_decided_in_order.sql': 'the trigger only fills a column that the version before does not know',
};

let parser: Parser;
beforeAll(async () => {
  parser = await healthyParser();
});

const partsOfFile = (name: string) => breakingParts(parser, readFileSync(new URL(name, folder), 'utf8'));

describe('migrations of the gateway (OP-54)', () => {
  it('only add, so that the version before works with them, or say in their names that they break', () => {
    const later = all.filter(({ name, number }) => number > lastOfFirstVersion && !/^\d+_breaking_/.test(name));
    const found = later.flatMap(({ name }) => (name in judged ? [] : partsOfFile(name).map((part) => `${name}: ${part}`)));
    expect(found, 'name it <number>_breaking_…, do it in two versions, or say in `judged` why it breaks nothing').toEqual([]);
  });

  it('are excused only where there is something to excuse', () => {
    for (const name of Object.keys(judged)) expect([name, partsOfFile(name)]).not.toEqual([name, []]);
  });

  it('are read whole: those of the first version have what this looks for', () => {
    const found = Object.fromEntries(all.map(({ name }) => [name, partsOfFile(name)]));
    expect(found['10_relay_bytes.sql']).toEqual(['AT_AlterColumnType']);
    expect(found['18_audit_seal.sql']).toContain('AT_DropColumn');
    expect(found['30_console.sql']).toEqual(['AT_AddConstraint']);
    expect(found['13_markers.sql']).toEqual([]);
    expect(found['31_console_codes.sql']).toEqual([]);
  });
});

describe('a statement of a migration', () => {
  it.each([
    'create table t (a int not null, unique (a))',
    'create table t (a int not null); create unique index on t (a); alter table t add constraint c check (a > 0)',
    'alter table t add column a int',
    'alter table t add column a int not null default 0 check (a in (0, 1))',
    'alter table t alter column a drop not null, alter column b set storage external',
    'alter table t set (autovacuum_vacuum_scale_factor = 0.02)',
    'create index on t (a); drop index u',
    'update t set a = 1; insert into t (a) values (1)',
    "comment on table t is 'x'; create function f() returns int language sql as 'select 1'",
  ])('only adds: %s', (sql) => {
    expect(breakingParts(parser, sql)).toEqual([]);
  });

  it.each([
    'alter table t add column a int not null',
    'alter table t drop column a',
    'alter table t alter column a type text',
    'alter table t alter column a set not null',
    'alter table t alter column a drop default',
    'alter table t add constraint c check (a > 0)',
    'alter table t rename to u',
    'alter table t rename column a to b',
    'create unique index on t (a)',
    'create trigger g before update on t for each row execute function f()',
    'drop table t',
    'drop function f()',
    'delete from t',
    'truncate t',
  ])('may break the version before: %s', (sql) => {
    expect(breakingParts(parser, sql)).not.toEqual([]);
  });
});
