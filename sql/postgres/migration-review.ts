import type { ReviewRule } from '../../domain/policies.js';
import type { ReviewedStatement } from '../collected-review.js';
import type { Form } from '../form.js';
import { type TreeNode, taggedOf, textOf } from '../tree.js';
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
    hits: [...hits, ...dropsWith(tag, body)],
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

/** Tables are dropped with the schema, or with everything that a role owns; columns with their type or collation, or with those of an extension. */
function dropsWith(tag: string, body: TreeNode): ReviewRule[] {
  if (tag === 'DropOwnedStmt' || tag === 'DropdbStmt') return ['drop_table'];
  if (tag !== 'DropStmt' || body.behavior !== 'DROP_CASCADE') return [];
  const object = textOf(body.removeType);
  if (object === 'OBJECT_SCHEMA') return ['drop_table'];
  return holding.has(object) ? ['drop_column'] : [];
}

const holding = new Set(['OBJECT_TYPE', 'OBJECT_DOMAIN', 'OBJECT_COLLATION', 'OBJECT_EXTENSION']);
