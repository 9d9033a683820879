import createGrammarModule, { type GrammarModule } from 'libpg-query/wasm/libpg-query.js';
import { listOf, nodeOf, type Tree, type TreeNode } from '../tree.js';

/** Offsets are UTF-8 bytes; `length` 0 means up to the end of the text. */
export interface ParsedStatement {
  readonly tree: Tree;
  readonly start: number;
  readonly length: number;
}
export type Parsed =
  | { readonly ok: true; readonly statements: readonly ParsedStatement[] }
  | { readonly ok: false; readonly message: string };

/** One token of the text by the server's own scanner. Start and end count UTF-8 bytes; comments are tokens too. */
export interface Token {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

export interface Parser {
  /** False once the grammar has crashed or grown too large; the next text needs a new parser. */
  readonly healthy: boolean;
  parse(text: string): Parsed;
  /** The tree of the PL/pgSQL in a DO or CREATE FUNCTION; null when it does not parse. Texts after one that crashed it are `nested too deep`. */
  parsePlpgsql(text: string): TreeNode | null;
  /** Null when the text cannot be scanned. */
  scan(text: string): readonly Token[] | null;
}

/**
 * Levels of JSON in the parser's tree. The limit is fixed, so that a verdict does not depend on the free stack: the main thread's 984 KB give 8,300
 * levels with optimised code, half of that with cold code.
 */
const maxTreeDepth = 2_000;
/** The grammar starts with 128 MiB of address space, which never shrinks; 1 MiB of `1,1,…` grows it to 204 MiB. */
const maxGrammarBytes = 160 * 1024 * 1024;
const tooDeep: Parsed = { ok: false, message: 'nested too deep' };

let current: Promise<Parser> | null = null;

/** The parser of this thread. A new one takes the place of one that is no longer healthy (SQ-I6). */
export async function healthyParser(): Promise<Parser> {
  for (;;) {
    current ??= loadParser().catch((error: unknown) => {
      current = null;
      throw error;
    });
    const asked = current;
    const parser = await asked;
    if (parser.healthy) return parser;
    if (current === asked) current = null;
  }
}

/** Loads a new instance of the PostgreSQL grammar (10 ms, 70 ms of CPU time on all cores together, 128 MiB of address space). */
async function loadParser(): Promise<Parser> {
  const grammar = await createGrammarModule();
  let crashed = false;
  const guarded = <T>(run: () => T, failed: T): T => {
    if (crashed) return failed;
    try {
      return run();
    } catch {
      crashed = true;
      return failed;
    }
  };
  return {
    get healthy() {
      return !crashed && grammar.HEAPU8.length <= maxGrammarBytes;
    },
    // The grammar refuses an empty text, so it is answered here.
    parse: (text) => (text === '' ? { ok: true, statements: [] } : guarded(() => parseWith(grammar, text), tooDeep)),
    parsePlpgsql: (text) => guarded(() => parsePlpgsqlWith(grammar, text), null),
    scan: (text) => (text === '' ? [] : guarded(() => scanWith(grammar, text), null)),
  };
}

function parseWith(grammar: GrammarModule, text: string): Parsed {
  const result = withText(grammar, text, (pointer) => grammar._wasm_parse_query_raw(pointer));
  const error = grammar.getValue(result + 8, 'i32');
  const message = error === 0 ? null : grammar.UTF8ToString(grammar.getValue(error, 'i32'));
  const json = message === null ? grammar.UTF8ToString(grammar.getValue(result, 'i32')) : '';
  grammar._wasm_free_parse_result(result);
  if (message !== null) return { ok: false, message };
  if (isDeeperThan(json, maxTreeDepth)) return tooDeep;
  return { ok: true, statements: listOf(readJson(json).stmts).map((each) => statementOf(nodeOf(each))) };
}

function statementOf(raw: TreeNode): ParsedStatement {
  return { tree: raw.stmt ?? null, start: Number(raw.stmt_location ?? 0), length: Number(raw.stmt_len ?? 0) };
}

/** The answer is JSON, or the message of an error. */
function parsePlpgsqlWith(grammar: GrammarModule, text: string): TreeNode | null {
  const result = withText(grammar, text, (pointer) => grammar._wasm_parse_plpgsql(pointer));
  const json = grammar.UTF8ToString(result);
  grammar._wasm_free_string(result);
  return json.startsWith('{') && !isDeeperThan(json, maxTreeDepth) ? readJson(json) : null;
}

function scanWith(grammar: GrammarModule, text: string): readonly Token[] | null {
  const result = withText(grammar, text, (pointer) => grammar._wasm_scan(pointer));
  const answer = grammar.UTF8ToString(result);
  grammar._wasm_free_string(result);
  if (!answer.startsWith('{')) return null;
  // The scanner's answer quotes each token's text with unescaped control characters. Only offsets are read from it.
  return listOf(readJson(answer.replace(/[\0-\x1f]/g, ' ')).tokens).map((each) => {
    const token = nodeOf(each);
    return { start: Number(token.start), end: Number(token.end), name: String(token.tokenName) };
  });
}

function withText(grammar: GrammarModule, text: string, run: (pointer: number) => number): number {
  const bytes = Buffer.byteLength(text) + 1;
  const pointer = grammar._malloc(bytes);
  grammar.stringToUTF8(text, pointer, bytes);
  const result = run(pointer);
  grammar._free(pointer);
  return result;
}

function readJson(json: string): TreeNode {
  const value: Tree = JSON.parse(json);
  return nodeOf(value);
}

function isDeeperThan(json: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === 0x22) at = endOfString(json, at);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

function endOfString(json: string, quote: number): number {
  let at = quote + 1;
  while (at < json.length && json.charCodeAt(at) !== 0x22) at += json.charCodeAt(at) === 0x5c ? 2 : 1;
  return at;
}
