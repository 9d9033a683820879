import type { Dialect, StatementFacts } from '../domain/statement.js';
import { isListedCall } from './listed-calls.js';

/** Why a statement is not planned before approval on any target, or null (HD-1). No agent configuration can allow these. */
export function neverPlanned(dialect: Dialect | null, { uses, listedCall }: StatementFacts): string | null {
  const listed = uses.functions.map(({ name }) => name).filter(isListedCall);
  if (listedCall || listed.length > 0)
    return `it calls ${listed.length > 0 ? `${[...new Set(listed)].join('(), ')}()` : 'a listed function'}`;
  if (dialect !== 'mysql') return null;
  const telling = uses.functions.find(({ schema, name }) => schema === null && tellsItsArguments.test(name));
  if (telling !== undefined) return `it calls ${telling.name}()`;
  return uses.valueQuery ? 'it has a subquery outside FROM' : null;
}

/** MySQL's and MariaDB's XML and GTID functions repeat their arguments in error texts. */
const tellsItsArguments = /^(extractvalue|updatexml|gtid_.*|binlog_gtid_pos|wsrep_.*gtid.*)$/;
