import { classOf, type FormLimits } from '../form.js';
import { refuseFor, wordsOfTag } from '../reasons.js';
import { reservedIn, stringsOf } from '../reserved-table.js';
import { type TreeNode, taggedOf } from '../tree.js';
import type { Refused, StatementVerdict } from '../verdict.js';
import { factsOf } from './facts.js';
import { findIn } from './findings.js';
import { formOf } from './forms.js';
import type { ParsedStatement } from './parser.js';

/** Classifies one parsed statement whose exact slice is `text` (SQ-20 to SQ-51). */
export function classifyStatement(parsed: ParsedStatement, text: string, limits: FormLimits): StatementVerdict | Refused {
  const { tag, body } = taggedOf(parsed.tree);
  const reserved = reservedIn(stringsOf(body), limits);
  if (reserved !== null) return refuseFor('reserved_table', reserved);
  const form = formOf(tag, body, limits);
  if ('verdict' in form) return form;
  const inner = tag === 'ExplainStmt' ? taggedOf(body.query) : { tag, body };
  const found = findIn(inner.tag, inner.body);
  if (found.stranger !== null) return refuseFor('not understood', `${wordsOfTag(found.stranger)} inside a statement`);
  if (found.parameter) return refuseFor('not understood', 'a parameter without a value', 'write the value in place of $1');
  const kind = form.kind === 'query' && found.intoTable ? 'ddl' : form.kind;
  const writes = found.changesRows || found.locksRows;
  const statementClass = classOf(form, { calls: found.listedCall, writes, creates: found.intoTable });
  return {
    destructive: form.destructive === true,
    facts: { ...factsOf(inner.tag, inner.body, form, found), ddl: statementClass.endsWith('ddl') },
    statement: {
      text,
      class: statementClass,
      type: form.type,
      kind,
      producesRows: kind === 'query' || kind === 'show' || kind === 'explain' || hasReturning(body),
      countsRows: kind === 'dml',
      outsideTransaction: form.outsideTransaction === true,
      explainable: kind === 'query' || kind === 'dml',
    },
  };
}

const hasReturning = (body: TreeNode): boolean => body.returningClause !== undefined;
