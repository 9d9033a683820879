import { listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';

/** The fields of a statement, and what its functions in FROM are called. */
export interface Fields {
  /** Name and what stands before it, as in `d.f`. */
  readonly written: { of: string; name: string }[];
  /** By the alias of a function, the columns that each function of that alias has. */
  readonly values: Map<string, ReadonlySet<string>>;
  /** A function in FROM has a name that this does not know. */
  unnamed: boolean;
}

export const noFields = (): Fields => ({ written: [], values: new Map(), unnamed: false });

export function noteFields(fields: Fields, field: string, node: TreeNode): void {
  if (field === 'RangeFunction') noteFunction(fields, node);
  else if (field === 'ColumnRef') {
    const names = listOf(node.fields).map(wordOf);
    for (const [at, name] of names.entries()) if (at > 0) fields.written.push({ of: names[at - 1] ?? '', name });
  }
}

/**
 * The fields that the server may read as calls of the function of that name (SQ-42): those after the alias of a function in FROM, which is its value
 * (`d.pg_sleep FROM float8(1.5) d`), unless the text names a column so. A column of a table is never a call.
 */
export function calledFields({ written, values, unnamed }: Fields): string[] {
  if (!unnamed && values.size === 0) return [];
  return written
    .filter(({ of, name }) => name !== '' && (unnamed || values.get(of)?.has(name) === false))
    .map(({ name }) => name);
}

function noteFunction(fields: Fields, { alias, functions, coldeflist }: TreeNode): void {
  const { aliasname, colnames } = nodeOf(alias);
  const defined = listOf(coldeflist).map((each) => textOf(nodeOf(nodeOf(each).ColumnDef).colname));
  const columns = [...listOf(colnames).map(wordOf), ...defined];
  const names = aliasname === undefined ? listOf(functions).map(nameOfFunction) : [textOf(aliasname)];
  for (const name of names) {
    // Some databases fold more letters than ASCII.
    if (name === null || !ascii.test(name)) fields.unnamed = true;
    else {
      const known = fields.values.get(name);
      fields.values.set(name, new Set(known === undefined ? columns : columns.filter((column) => known.has(column))));
    }
  }
}

/** A call without an alias has the function's name; null for what has no such name, as `CAST(…)`. */
function nameOfFunction(item: Tree): string | null {
  const [called] = listOf(nodeOf(nodeOf(item).List).items);
  const { funcname } = nodeOf(nodeOf(called).FuncCall);
  return funcname === undefined ? null : wordOf(listOf(funcname).at(-1));
}

const ascii = /^[\x00-\x7f]*$/;
const wordOf = (part: Tree | undefined): string => textOf(nodeOf(nodeOf(part).String).sval);
