import { readFile } from 'node:fs/promises';
import type { Tree } from '../tree.js';

/** A general parser with a MySQL dialect. It accepts texts that no server does, and reads about 93 % of MariaDB's own test suite. */
export interface SecondParser {
  /** One tree per statement, or null for a text that it does not know. Throws when the text broke the parser, which is unusable from then on. */
  parse(text: string): readonly Tree[] | null;
  /** Its memory, which never shrinks, has grown too large; the parser should be replaced. */
  readonly worn: boolean;
}

/** Texts within its limits have grown it to 32 MiB. */
const maxMemoryBytes = 96 * 1024 * 1024;

/** Not exposed by the package's own wrapper: the size of the memory, and whether a text was wrong or broke the parser. */
interface Binding {
  initSync(input: { module: Uint8Array }): { readonly memory: { readonly buffer: ArrayBuffer } };
  /** Throws an Error when the WASM code fails, and another object for a text that it does not know. */
  parse_sql(dialect: 'mysql', text: string): readonly Tree[];
}

let loaded = 0;

/** Loads a parser of its own (60 ms, 1.3 MiB plus its code), which the process keeps for its lifetime. A broken one breaks no other. */
export async function loadSecondParser(): Promise<SecondParser> {
  const main = import.meta.resolve('@guanmingchiu/sqlparser-ts');
  loaded += 1;
  // The binding holds one instance. Under another name it is another module.
  const binding: Binding = await import(new URL(`../wasm/sqlparser_rs_wasm.js?${loaded}`, main).href);
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
