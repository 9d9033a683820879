import { describe } from 'vitest';
import { expectAll, useClassifier } from './classified.js';

useClassifier();

describe('classes of section 2', () => {
  expectAll('SQ-20', 'read', [
    'select 1',
    'values (1)',
    'table t',
    'with a as (select 1) select * from a',
    'show server_version',
    'explain select 1',
    'explain insert into t values (1)',
    'explain update t set a = 1',
    'explain delete from t',
    'explain merge into t using u on true when matched then delete',
    'explain create table t as select 1',
    'explain (verbose, costs off, format json) delete from t',
  ]);
  expectAll('SQ-21', 'write', [
    'explain analyze delete from t',
    'explain analyze verbose delete from t',
    'explain (analyze) delete from t',
    'explain (analyze on) delete from t',
    'explain (ANALYZE True) delete from t',
    'explain (analyze 1) delete from t',
    'explain (analyze 2) delete from t',
    "explain (analyze 'on') delete from t",
    'explain (analyze 0.0) delete from t',
    'explain (analyze, analyze off) delete from t',
    'explain (analyze off, analyze) delete from t',
    'explain analyze insert into t values (1)',
    'explain analyze update t set a = 1',
    'explain analyze merge into t using u on true when matched then delete',
  ]);
  expectAll('SQ-21', 'read', [
    'explain analyze select 1',
    'explain (analyze off) delete from t',
    'explain (analyze FALSE) delete from t',
    'explain (analyze 0) delete from t',
  ]);
  expectAll('SQ-21', 'ddl', ['explain analyze create table t as select 1', 'explain analyze select 1 into t']);
  expectAll('SQ-22', 'write', [
    'insert into t default values',
    'with a as (select 1) insert into t select * from a',
    'update t set a = 1 where b = 2',
    'delete from t where a = 1',
    'merge into t using u on true when not matched then insert default values',
    'with a as (select 1) merge into t using a on true when matched then do nothing',
    'call p(1)',
    'notify c',
    'analyze',
    'analyze (verbose) t (a)',
    'vacuum',
    'vacuum (analyze) t',
    'refresh materialized view concurrently m',
    'refresh materialized view m with no data',
  ]);
  expectAll('SQ-23', 'ddl', [
    'create table t (a int)',
    'create unlogged table if not exists t (like u including all)',
    'create temp table t (a int) on commit drop',
    'create table t partition of u for values in (1)',
    'create table t as select 1',
    'create table t as values (1) with no data',
    'select 1 as a into temp t',
    'create view v as select 1',
    'create or replace recursive view v (a) as select 1',
    'create materialized view m as select 1 with no data',
    'create unique index on t (lower(a)) include (b) where c',
    'alter table t add constraint c check (a > 0) not valid, alter a set default 1',
    'alter table if exists t drop constraint c',
    'alter table t attach partition u default',
    'alter table t rename to u',
    'alter table t rename column a to b',
    'alter table t rename constraint a to b',
    'alter table t set schema s',
    'alter sequence s restart 1',
    'alter sequence s owned by t.a',
    'alter sequence s rename to z',
    'alter sequence s set schema z',
    "comment on table t is 'x'",
    'comment on function f(int) is null',
    'reindex table t',
    'reindex index i',
    'cluster t using i',
    'vacuum full t',
    'vacuum (full, analyze) t',
  ]);
  expectAll('SQ-25', 'setting', [
    "set timezone = 'UTC'",
    'set local lock_timeout = 5',
    "set names 'UTF8'",
    'set time zone local',
  ]);
});
