import { Unexpected } from '../faults.js';
import { roomForWarnings } from './limits.js';
import type { MysqlSession, Ran } from './session.js';

/**
 * Runs a text to its end, and throws also where the server tells a failure without an error: in a row of ANALYZE TABLE and its like, and for DO, which
 * always succeeds, in its warnings.
 */
export async function runToEnd(session: MysqlSession, text: string): Promise<Ran> {
  // What a procedure makes of it is its own affair.
  if (/^call\b/i.test(text)) return await session.run(text);
  if (isDo.test(text)) await session.run(roomForWarnings);
  const told: string[] = [];
  let isReport = false;
  const ran = await session.run(text, {
    onColumns: (columns) => {
      isReport = columns.map(({ name }) => name).join() === 'Table,Op,Msg_type,Msg_text';
    },
    onRow: ([, , kind, words]) => {
      if (isReport && /^error$/i.test(kind?.toString('utf8') ?? '')) told.push(words?.toString('utf8') ?? '');
    },
  });
  if (isDo.test(text)) for (const [, code, words] of await session.query('show errors')) told.push(`${words} (error ${code})`);
  if (told.length > 0) throw new Unexpected(told.join('; '));
  return ran;
}

const isDo = /^(set\s+statement\b.*\bfor\s+)?do\b/is;
