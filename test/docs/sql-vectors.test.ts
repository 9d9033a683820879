import { describe, expect, it } from 'vitest';
import { mysqlVectors, reviewByRow } from '../sql/mysql-vectors.js';
import { postgresqlVectors, unknownDialectVectors } from '../sql/vectors.js';
import { textOf } from './rule-book.js';

const listTo = (n: number): string => Array.from({ length: n }, (_, index) => index + 1).join(',');
const unescaped = (text: string): string =>
  text
    .replace(/\\n/g, '\n')
    .replace(/\\t/g, '\t')
    .replace(/\\u00a0/g, '\u00a0')
    .replace(/<(\d+)>/g, (_, n) => listTo(Number(n)));

interface Row {
  texts: string[];
  verdict: string;
}

/** The rows of section 10 by id: what stands between backticks, and the verdict. */
function readRows(): Map<string, Row> {
  const rows = textOf('docs/rules/sql-safety.md').matchAll(/^\| ([PMU]\d+) \| (.*) \| (.*) \|$/gm);
  return new Map(
    [...rows].map(([, id, texts, verdict]) => [
      id!,
      {
        texts: [...texts!.matchAll(/`` ?(.+?) ?``|`([^`]*)`/g)].map(([, wide, plain]) => unescaped(wide ?? plain!)),
        verdict: verdict!,
      },
    ]),
  );
}

/** `blocked x; write`, `ddl, warn x, y`, `ddl, safe` or a class alone. */
function verdictOf(id: string, expected: string): string {
  const { codes, safe } = reviewByRow[id] ?? { codes: [] };
  const blocking = codes.filter((code) => /^(no_where|drop_table|truncate)/.test(code));
  const warning = codes.filter((code) => !blocking.includes(code));
  const blocked = blocking.length === 0 ? '' : `blocked ${blocking.join(', ')}; `;
  return `${blocked}${expected}${warning.length === 0 ? '' : `, warn ${warning.join(', ')}`}${safe ? ', safe' : ''}`;
}

describe('the vectors of docs/rules/sql-safety.md', () => {
  const rows = readRows();
  // Their texts cannot stand in a table, or are two rows of the tests.
  const apart = ['P47', 'P48', 'M12a', 'M12b'];
  const vectors = [...postgresqlVectors, ...mysqlVectors, ...unknownDialectVectors].filter(({ id }) => !apart.includes(id));

  it('are those that test/sql runs', () => {
    expect([...rows.keys()].filter((id) => id !== 'M12' && !apart.includes(id)).toSorted()).toEqual(
      vectors.map(({ id }) => id).toSorted(),
    );
  });

  it.each(vectors.map((vector) => [vector.id, vector] as const))(
    '%s has the texts and the verdict',
    (id, { texts, expected }) => {
      expect(rows.get(id)).toEqual({ texts: [...texts], verdict: verdictOf(id, expected) });
    },
  );
});
