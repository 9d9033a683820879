import { readFile } from 'node:fs/promises';
import type { Tree } from '../tree.js';

/** A general parser with a MySQL dialect. It accepts texts that no server does, and reads about 93 % of MariaDB's own test suite. */
export interface SecondParser {
  /** One tree for each statement, or null for a text that it does not know; throws when the text broke it, after which it is of no use. */
  parse(text: string): readonly Tree[] | null;
  /** Its memory, which never shrinks, has grown too large: it wants to be replaced. */
  readonly worn: boolean;
}

/** Texts within its reach have taken it to 32 MiB. */
const maxMemoryBytes = 96 * 1024 * 1024;

/** What the package's own wrapper hides: how large the memory is, and whether a text was wrong or broke the parser. */
interface Binding {
  initSync(input: { module: Uint8Array }): { readonly memory: { readonly buffer: ArrayBuffer } };
  /** Throws an Error when the WASM code fails, and another object for a text that it does not know. */
  parse_sql(dialect: 'mysql', text: string): readonly Tree[];
}

/** Loads the parser (60 ms, 1.3 MiB and its code); one in a thread, because the binding keeps one instance for as long as it lives. */
export async function loadSecondParser(): Promise<SecondParser> {
  const main = import.meta.resolve('@guanmingchiu/sqlparser-ts');
  const binding: Binding = await import(new URL('../wasm/sqlparser_rs_wasm.js', main).href);
  const { memory } = binding.initSync({ module: await readFile(new URL('../wasm/sqlparser_rs_wasm_bg.wasm', main)) });
  return {
    parse: (text) => {
      try {
        return binding.parse_sql('mysql', text);
      } catch (error) {
        if (error instanceof Error) throw error;
        return null;
      }
    },
    get worn() {
      return memory.buffer.byteLength > maxMemoryBytes;
    },
  };
}
