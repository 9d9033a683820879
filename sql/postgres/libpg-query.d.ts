/** The compiled PostgreSQL grammar. The package's own wrapper keeps one instance per process, which cannot be replaced after a crash. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export interface GrammarModule {
    readonly HEAPU8: Uint8Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _wasm_parse_query_raw(text: number): number;
    _wasm_free_parse_result(result: number): void;
    _wasm_parse_plpgsql(text: number): number;
    _wasm_scan(text: number): number;
    _wasm_free_string(text: number): void;
    getValue(pointer: number, type: 'i32'): number;
    stringToUTF8(text: string, pointer: number, maxBytes: number): void;
    UTF8ToString(pointer: number): string;
  }
  export default function createGrammarModule(): Promise<GrammarModule>;
}
