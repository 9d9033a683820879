import { forEachNode, listOf, nodeOf, type Tree, type TreeNode } from '../tree.js';
import type { Token } from './parser.js';

/** Typed constants (`DATE '…'`, `N'…'`, `INTERVAL '…' DAY TO SECOND`): maps the index of the first word to that of the last. */
export function findTypedConstants(tree: Tree, words: readonly Word[]): ReadonlyMap<number, number> {
  const indexByStart = new Map(words.map((word, index) => [word.start, index]));
  const spans = new Map<number, number>();
  forEachNode('', nodeOf(tree), (field, node) => {
    if (field === 'TypeCast') note(spans, node, words, indexByStart);
  });
  return spans;
}

/** The parser gives the cast of a typed constant no location; the type stands before the constant. */
function note(
  spans: Map<number, number>,
  cast: TreeNode,
  words: readonly Word[],
  indexByStart: ReadonlyMap<number, number>,
): void {
  if (cast.location !== -1) return;
  const constant = nodeOf(nodeOf(cast.arg).A_Const);
  const type = nodeOf(cast.typeName);
  const first = indexByStart.get(Number(type.location ?? 0));
  const value = indexByStart.get(Number(constant.location ?? 0));
  if (constant.sval === undefined || first === undefined || value === undefined || first >= value) return;
  spans.set(first, lastWord(type, first, value, words));
}

/** INTERVAL's fields follow the constant; with a precision (`INTERVAL(3) '…'`) there are none. */
function lastWord(type: TreeNode, first: number, value: number, words: readonly Word[]): number {
  const hasFields =
    listOf(type.typmods).length > 0 && /^interval$/i.test(words[first]?.text ?? '') && words[first + 1]?.text !== '(';
  if (!hasFields) return value;
  let last = value;
  while (intervalField.test(words[last + 1]?.text ?? '')) last += 1;
  return words[last + 1]?.text === '(' && /^second$/i.test(words[last]?.text ?? '') ? last + 3 : last;
}

const intervalField = /^(year|month|day|hour|minute|second|to)$/i;

export interface Word extends Token {
  readonly text: string;
}
