import type { Dialect } from '../domain/statement.js';
import { createEngine } from '../sql/engine.js';
import { createMysqlEngine } from '../sql/mysql/engine.js';
import type { ClassifyOptions } from '../sql/verdict.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions } from './system.js';

const columns = Array.from({ length: 12 }, (_, n) => `o.column_${n}`).join(', ');

/** What people and programs send: lookups, reports, changes, DDL, and texts that are refused. */
const shared = [
  'SELECT 1',
  `SELECT ${columns} FROM orders o WHERE o.customer_id = 4711 ORDER BY o.placed_at DESC LIMIT 50`,
  `SELECT c.country, count(*), sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id
   WHERE o.placed_at >= '2026-01-01' AND o.state IN ('paid', 'sent', 'returned') GROUP BY c.country HAVING count(*) > 10 ORDER BY 3 DESC`,
  'WITH late AS (SELECT id FROM orders WHERE due < now()) SELECT * FROM late JOIN reminders r ON r.order_id = late.id',
  `INSERT INTO notes (order_id, author, text) VALUES (1, 'alice', 'called back'), (2, 'bob', 'it''s sent')`,
  `UPDATE orders SET state = 'sent', sent_at = now() WHERE id = 815 AND state = 'paid'`,
  'DELETE FROM sessions WHERE expires_at < now()',
  'CREATE TABLE archive (id bigint PRIMARY KEY, total numeric(12, 2) NOT NULL, note text)',
  'ALTER TABLE orders ADD COLUMN weight int',
  'GRANT SELECT ON orders TO reporting',
];
const texts: readonly [Dialect, readonly string[]][] = [
  [
    'postgresql',
    [...shared, `SELECT data->>'a', count(*) FILTER (WHERE ok) FROM events GROUP BY 1`, 'EXPLAIN ANALYZE SELECT * FROM orders'],
  ],
  ['mysql', [...shared, 'SELECT `id` FROM `orders` LIMIT 10 OFFSET 20', 'SHOW CREATE TABLE orders']],
];
const largest = `SELECT * FROM orders WHERE id IN (1${',1'.repeat(49_982)})`;

/** Measures classifications on one core, of both dialects in turn (MySQL by both of its parsers), and of a text of the maximum length. */
export async function classification({ count = 40_000, warmup = 4000, largeCount = 20 }: BenchOptions) {
  const [postgresql, mysql] = [await createEngine(), await createMysqlEngine()];
  const classify = (text: string, options: ClassifyOptions) =>
    (options.dialect === 'mysql' ? mysql.run : postgresql)({ kind: 'classify', text, options });
  const mixed = texts.flatMap(([dialect, own]) => own.map((text) => ({ text, options: { dialect, statementTimeoutSecs: 30 } })));
  const classifyMany = async (number: number) => {
    const startedAt = performance.now();
    for (let at = 0; at < number; at += 1) {
      const { text, options } = mixed[at % mixed.length]!;
      await classify(text, options);
    }
    return number / ((performance.now() - startedAt) / 1000);
  };
  await classifyMany(warmup);
  const perSecond = await classifyMany(count);
  return {
    count,
    texts: mixed.length,
    per_second: hundredths(perSecond),
    largest_bytes: largest.length,
    largest_ms: await largeMs(classify, largeCount),
  };
}

async function largeMs(classify: (text: string, options: ClassifyOptions) => Promise<unknown>, count: number) {
  const byDialect: Record<string, ReturnType<typeof percentiles>> = {};
  for (const [dialect] of texts) {
    const durations: number[] = [];
    while (durations.length < count) {
      const startedAt = performance.now();
      await classify(largest, { dialect, statementTimeoutSecs: 30 });
      durations.push(performance.now() - startedAt);
    }
    byDialect[dialect] = percentiles(durations);
  }
  return byDialect;
}
