import { withCommas } from '../../lib/counts.js';
import type { Tone } from './status.js';

/** A factor as the API gives it: a name, and what it was found on. */
export interface Factor {
  name: string;
  rows?: number;
  count?: number;
  tables?: string[];
  targets?: string[];
  names?: string[];
}

const tones: Record<string, Tone> = { low: 'good', medium: 'wait', high: 'bad', critical: 'bad' };

export const riskTone = (level: string): Tone => tones[level.toLowerCase()] ?? 'off';

/** Migrations are not judged. */
export const riskText = (level: string) => (level === 'unavailable' ? 'risk not judged' : `${level.toLowerCase()} risk`);

const words: Record<string, string> = {
  read_only: 'only reads',
  safe_ddl: 'a change of the schema that loses nothing',
  schema_not_synced: 'the tables are not known yet',
  schema_stale: 'what is known of the tables is old',
  schema_incomplete: 'not all of the schema is known',
  ddl: 'changes the schema',
  multi_statement: 'several statements',
  drop_operation: 'drops something',
  table_unresolved: 'a table that is not known',
  never_analysed: 'a table whose size is not known',
  triggers: 'triggers run',
  unlisted_function: 'calls a function of unknown effect',
  many_warnings: 'many findings',
  cascade_delete: 'deletes from other tables along',
  large_table: 'a large table',
};

/** `a large table (50,000 rows)`: what a factor means, and on what it was found. */
export function factorText(factor: Factor): string {
  const details = [
    factor.rows === undefined ? '' : `${withCommas(factor.rows)} rows`,
    factor.count === undefined ? '' : `${withCommas(factor.count)}`,
    [...(factor.tables ?? []), ...(factor.targets ?? []), ...(factor.names ?? [])].join(', '),
  ].filter(Boolean);
  const word = words[factor.name] ?? factor.name.replaceAll('_', ' ');
  return details.length === 0 ? word : `${word} (${details.join('; ')})`;
}
