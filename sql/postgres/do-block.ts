import type { ReviewedStatement } from '../collected-review.js';
import { forEachNode, listOf, nodeOf, type Tree, type TreeNode, taggedOf, textOf } from '../tree.js';
import type { Parser } from './parser.js';

/**
 * What the review rules need of a DO, which runs its block at once (HD-95): all that its statements need. A block in another language than PL/pgSQL, or
 * with a statement that is put together only when it runs, is not understood.
 */
export function reviewedBlock(
  parser: Parser,
  { args }: TreeNode,
  text: string,
  review: (tag: string, body: TreeNode) => ReviewedStatement,
): ReviewedStatement {
  const block = { hits: [], changesRows: false, bypassable: false, ddl: false, understood: false };
  const tree = isPlpgsql(args) ? parser.parsePlpgsql(text) : null;
  const texts = tree === null ? null : textsIn(parser, tree);
  if (texts === null) return { ...block, ddl: true };
  const inside = texts.texts.map((one) => parser.parse(one));
  const reviewed = inside
    .flatMap((one) => (one.ok ? one.statements : []))
    .map((statement) => taggedOf(statement.tree))
    .map(({ tag, body }) => review(tag, body));
  return {
    ...block,
    hits: reviewed.flatMap(({ hits }) => hits),
    changesRows: reviewed.some(({ changesRows }) => changesRows),
    ddl: reviewed.some(({ ddl }) => ddl),
    understood: texts.isAll && inside.every(({ ok }) => ok) && reviewed.every(({ understood }) => understood),
  };
}

function isPlpgsql(args: Tree | undefined): boolean {
  const options = listOf(args).map((option) => nodeOf(nodeOf(option).DefElem));
  const language = options.find(({ defname }) => defname === 'language');
  return language === undefined || textOf(nodeOf(nodeOf(language.arg).String).sval).toLowerCase() === 'plpgsql';
}

/** The statements in the block. An EXECUTE counts if its text is a constant. */
function textsIn(parser: Parser, tree: TreeNode): { texts: string[]; isAll: boolean } {
  const texts: string[] = [];
  let isAll = true;
  forEachNode('', tree, (field, node) => {
    const { query, parseMode } = field === 'PLpgSQL_expr' ? node : {};
    if (parseMode === wholeStatement) texts.push(textOf(query));
    const expression = nodeOf(nodeOf(dynamic.has(field) ? node.query : node.dynquery).PLpgSQL_expr).query;
    const constant = expression === undefined ? undefined : constantIn(parser, textOf(expression));
    if (constant === null) isAll = false;
    else if (constant !== undefined) texts.push(constant);
  });
  // Siblings were visited from the last to the first.
  return { texts: texts.toReversed(), isAll };
}

function constantIn(parser: Parser, expression: string): string | null {
  const parsed = parser.parse(`select ${expression}`);
  const [only] = parsed.ok ? parsed.statements : [];
  const targets = listOf(taggedOf(only?.tree).body.targetList);
  const { sval } = nodeOf(nodeOf(nodeOf(nodeOf(targets[0]).ResTarget).val).A_Const);
  return sval === undefined ? null : textOf(nodeOf(sval).sval);
}

const wholeStatement = 0;
/** EXECUTE alone and in a FOR; OPEN ... FOR EXECUTE has its text in a field of its own. */
const dynamic = new Set(['PLpgSQL_stmt_dynexecute', 'PLpgSQL_stmt_dynfors']);
