import type { ReviewedStatement } from '../collected-review.js';
import type { Form } from '../form.js';
import { listOf, type TreeNode, taggedOf, textOf } from '../tree.js';
import { factsOf } from './facts.js';
import { findIn } from './findings.js';
import { formOf } from './forms.js';

/**
 * What the review rules need of one statement of a migration (HD-95). It may be of a kind that is refused elsewhere, such as ALTER TABLE ... OWNER TO
 * or DROP COLUMN.
 */
export function reviewedOf(tag: string, body: TreeNode): ReviewedStatement {
  const inner = tag === 'ExplainStmt' ? taggedOf(body.query) : { tag, body };
  const found = findIn(inner.tag, inner.body);
  const known = formOf(tag, body, { statementTimeoutSecs: 0 });
  const form = 'verdict' in known ? assumedForm(tag) : known;
  const { hits, changesRows, bypassable } = factsOf(inner.tag, inner.body, form, found);
  return {
    hits: dropsTables(tag, body) ? [...hits, 'drop_table'] : hits,
    changesRows,
    bypassable: bypassable && !('verdict' in known),
    ddl: form.class === 'ddl' || (form.inside === 'runs' && found.intoTable),
    understood: true,
  };
}

/** A statement that is refused elsewhere is taken to run nothing of its inside. */
const assumedForm = (tag: string): Form => ({
  kind: 'ddl',
  type: 'DDL',
  inside: 'defined',
  class: tag === 'VariableSetStmt' ? 'setting' : 'ddl',
});

/** Tables are dropped with the schema, or with everything that a role owns. */
function dropsTables(tag: string, body: TreeNode): boolean {
  if (tag === 'DropOwnedStmt' || tag === 'DropdbStmt') return true;
  return (
    tag === 'DropStmt' &&
    textOf(body.removeType) === 'OBJECT_SCHEMA' &&
    body.behavior === 'DROP_CASCADE' &&
    listOf(body.objects).length > 0
  );
}
