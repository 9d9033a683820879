import type { ClassifiedStatement } from '../../domain/statement.js';
import { classOf, type FormLimits } from '../form.js';
import { refuseFor } from '../reasons.js';
import type { Refused, StatementVerdict } from '../verdict.js';
import { strayInto } from './ddl-parts.js';
import { mysqlFactsOf } from './facts.js';
import { findInMysql, type MysqlFindings } from './findings.js';
import type { MysqlForm } from './form.js';
import { mysqlFormOf } from './forms.js';
import { reservedInTokens } from './reserved-table.js';
import type { MysqlStatement } from './statement.js';

/** Classifies one MySQL statement whose exact slice is `text` (SQ-70 to SQ-73). */
export function classifyMysqlStatement(statement: MysqlStatement, text: string, limits: FormLimits): StatementVerdict | Refused {
  const reserved = reservedInTokens(statement.tokens, limits);
  if (reserved !== null) return refuseFor('reserved_table', reserved);
  const form = mysqlFormOf(statement, limits);
  if ('verdict' in form) return form;
  const found = findInMysql(statement);
  const into = form.kind === 'setting' ? null : strayInto(statement, found.into, form.verbAt);
  if (into !== null) return refuseFor(into === 'file' ? 'server files or client data' : 'session state', 'INTO');
  if (found.procedure && form.kind !== 'show' && form.class !== 'ddl') return refuseFor('not understood', 'PROCEDURE');
  const classified = classifiedOf(statement, text, form, found);
  return {
    destructive: form.destructive === true,
    facts: { ...mysqlFactsOf(statement, form, found), ddl: classified.class.endsWith('ddl') },
    statement: classified,
  };
}

function classifiedOf(statement: MysqlStatement, text: string, form: MysqlForm, found: MysqlFindings): ClassifiedStatement {
  const returning = statement.tokens.some(
    ({ upper, dotted }, at) => upper === 'RETURNING' && !dotted && statement.depths[at] === 0,
  );
  return {
    text,
    class: classOf(form, { calls: found.listedCall, writes: found.locksRows || found.assigns, creates: false }),
    type: form.type,
    kind: form.kind,
    producesRows: form.kind === 'query' || form.kind === 'show' || form.kind === 'explain' || (form.kind === 'dml' && returning),
    countsRows: form.kind === 'dml',
    outsideTransaction: false,
    explainable: form.kind === 'query' || form.kind === 'dml',
  };
}
