import { Unexpected } from '../faults.js';
import type { MysqlSession, Ran } from './session.js';

/** Runs a text to its end. For ANALYZE TABLE and its like the server tells a failure in a row, and ends them without an error. */
export async function runToEnd(session: MysqlSession, text: string): Promise<Ran> {
  if (!/^(analyze|optimize|check|repair)\b/i.test(text)) return await session.run(text);
  const told: string[] = [];
  const ran = await session.run(text, {
    onRow: ([, , kind, words]) => {
      if (/^error$/i.test(kind?.toString('utf8') ?? '')) told.push(words?.toString('utf8') ?? '');
    },
  });
  if (told.length > 0) throw new Unexpected(told.join('; '));
  return ran;
}
