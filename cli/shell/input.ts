import { type Lexis, splitStatements } from './statements.js';

/** What a person typed: SQL for one request, or a command such as `\d items`. */
export type Item = { kind: 'statement'; sql: string } | { kind: 'command'; words: string[] };

/** Twice what the server accepts (RQ-12). */
const maxStatement = 200_000;

/** Gathers lines until they are statements. */
export class Input {
  private readonly lexis: Lexis;
  private text = '';
  /** What the text begins and does not end. */
  open: string | null = null;

  constructor(lexis: Lexis) {
    this.lexis = lexis;
  }

  get isEmpty(): boolean {
    return this.text === '';
  }

  /** What the line completes. */
  add(line: string): Item[] {
    if (this.isEmpty && /^\s*\\/.test(line)) return [{ kind: 'command', words: line.trim().split(/\s+/) }];
    if (this.text.length + line.length > maxStatement) {
      this.clear();
      throw new RangeError(`a statement has more than ${maxStatement} characters`);
    }
    this.text += `${line}\n`;
    // A line without a semicolon ends no statement, and may stay in a long quote.
    if (!line.includes(';') && this.text.trim() !== line.trim()) return [];
    return this.take();
  }

  /** The statement that the end of the input ends. */
  end(): Item[] {
    const items = this.take();
    const sql = this.text.trim();
    if (sql !== '' && this.open === null) items.push({ kind: 'statement', sql });
    return items;
  }

  clear(): void {
    this.text = '';
    this.open = null;
  }

  private take(): Item[] {
    const { statements, rest, open } = splitStatements(this.text, this.lexis);
    this.text = rest.trim() === '' ? '' : rest;
    this.open = open;
    return statements.map((sql) => ({ kind: 'statement', sql }));
  }
}
