import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { init, parse } from '@guanmingchiu/sqlparser-ts';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { classifyText } from '../../../sql/classify-text.js';
import { cutMysql } from '../../../sql/mysql/engine.js';
import { seesMore } from '../../../sql/mysql/second-opinion.js';
import type { Tree } from '../../../sql/tree.js';
import type { Verdict } from '../../../sql/verdict.js';
import { findMariadbSuite } from '../../support/mariadb-suite.js';
import { noteNotRun } from '../../support/not-run.js';
import { share } from '../../support/share.js';
import { mysqlVectors } from '../mysql-vectors.js';
import { statementsOf } from './suite-statements.js';

/** The second parser reads what our lexer and closed lists alone call reads: how well these do without it, and whether it refuses in vain. */
const suite = await findMariadbSuite({ signal: AbortSignal.timeout(600_000), report: (line) => console.error(line) }).catch(
  (error: Error) => noteNotRun(import.meta.url, error.message),
);
/** One in this many files of the suite is read. */
const stride = share(30, 6);
beforeAll(() => init());

const classifyAlone = (text: string): Verdict => classifyText(cutMysql, text, { dialect: 'mysql', statementTimeoutSecs: 30 });

/** The longest text that it gets: none of this length nests deep enough to break it. */
const maxLength = 1_000;

/** What of a text of ours the second parser takes for more than a read; null when it agrees or does not understand. */
function disagreement(text: string): 'agrees' | 'silent' | 'differs' | null {
  const verdict = classifyAlone(text);
  if (verdict.verdict !== 'accepted' || !verdict.read || text.length > maxLength) return null;
  const trees = tryParse(text);
  if (trees === null) return 'silent';
  return trees.length === verdict.statements.length && !trees.some(writes) ? 'agrees' : 'differs';
}

function tryParse(text: string): Tree[] | null {
  try {
    return parse(text, 'mysql') as Tree[];
  } catch {
    return null;
  }
}

/** EXPLAIN without ANALYZE may hold anything; elsewhere a writing statement, a lock or INTO counts at any depth. */
function writes(tree: Tree): boolean {
  const [kind = ''] = typeof tree === 'string' ? [tree] : Object.keys(tree as object);
  if (!/^(Query|Explain|ExplainTable|Set|Show\w+)$/.test(kind)) return true;
  const json = JSON.stringify(tree);
  if (kind === 'Explain' && /"analyze":false/.test(json)) return false;
  return /"(Insert|Update|Delete|Merge)":\{/.test(json) || /"locks":\[[^\]]/.test(json) || /"into":[^n]/.test(json);
}

describe('no statement that a second parser sees as a write is a read for us (SQ-I1)', () => {
  it.skipIf(suite === undefined)(
    'in MariaDB’s own test suite',
    () => {
      const count = { agrees: 0, silent: 0, differs: 0 };
      const files = readdirSync(suite!).filter((_, at) => at % stride === 0);
      for (const file of files)
        for (const text of statementsOf(join(suite!, file))) {
          const answer = disagreement(text);
          if (answer === 'differs') expect.fail(text);
          if (answer !== null) count[answer] += 1;
        }
      expect(count.agrees).toBeGreaterThan(share(500, 5_000));
      expect(count.silent / count.agrees).toBeLessThan(0.1);
    },
    240_000,
  );

  it.skipIf(suite === undefined)(
    'and it sees more than we do in nothing of that suite, so that nothing is refused in vain (SQ-3)',
    () => {
      let seen = 0;
      const files = readdirSync(suite!).filter((_, at) => at % stride === 0);
      for (const text of files.flatMap((file) => statementsOf(join(suite!, file)))) {
        const verdict = classifyAlone(text);
        const trees = verdict.verdict === 'accepted' && text.length <= maxLength ? tryParse(text) : null;
        if (verdict.verdict !== 'accepted' || trees === null) continue;
        const more = seesMore(verdict, trees);
        if (more !== null) expect.fail(`${more}: ${text}`);
        seen += 1;
      }
      expect(seen).toBeGreaterThan(share(1000, 10_000));
    },
    240_000,
  );

  it('it does see writes where they are', () => {
    const texts = mysqlVectors.filter(({ id }) => /^M(1|3|6|7|8|10|12.)$/.test(id)).flatMap((row) => row.texts);
    const parsed = [...texts, 'EXPLAIN ANALYZE DELETE FROM t'].map(tryParse).filter((trees) => trees !== null);
    expect(parsed.filter((trees) => !trees.some(writes))).toEqual([]);
    expect(parsed.length).toBeGreaterThan(8);
  });

  it('in texts made of hostile pieces', () => {
    const whole = mysqlVectors.flatMap(({ texts }) => texts);
    const pieces = [
      '/*!50000 ',
      '/*M! ',
      '*/',
      '/*',
      '-- \n',
      '--',
      '#',
      '\n',
      "'",
      '"',
      '`',
      '\\',
      "_utf8'a'",
      "N'a'",
      ';',
      ' INTO OUTFILE "/x" ',
    ];
    const more = [
      ' FOR UPDATE',
      ' LOCK IN SHARE MODE',
      ' UNION SELECT 1',
      ' DELETE FROM t WHERE 1',
      '@a := 1',
      ' EXPLAIN ANALYZE ',
      ' DO 1',
      'XA BEGIN',
    ];
    const text = fc
      .array(fc.constantFrom(...whole, ...pieces, ...more, ' ', '(', ')', '1', 'SELECT 1'), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (each) => {
        if (disagreement(each) === 'differs') expect.fail(each);
      }),
      { numRuns: share(500, 1_500) },
    );
  }, 60_000);
});
