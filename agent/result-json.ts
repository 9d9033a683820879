import { arrayText, closeObject, objectWriter, openObject } from '../lib/json/write.js';
/** Joins converted members into a JSON object or array for one row. */
export type RowWriter = (values: readonly string[]) => string;

const PIECE_LENGTH = 65_536;
/** Room for the end of the text: `],"truncated":true,"truncation_reason":"..."}`. */
const TAIL_BYTES = 160;

/** JSON text in UTF-8 pieces, so that a large result is held once and never as one string (AP-40, AP-72). */
export class ResultText {
  readonly pieces: Uint8Array[] = [];
  #open: string[] = [];
  #openLength = 0;
  #closedBytes = 0;
  #openBytes = 0;

  get bytes(): number {
    return this.#closedBytes + this.#openBytes;
  }

  append(text: string): void {
    this.#open.push(text);
    this.#openLength += text.length;
    this.#openBytes += Buffer.byteLength(text);
    if (this.#openLength >= PIECE_LENGTH) this.close();
  }

  /** Moves the appended text into a piece; splits no character. */
  close(): void {
    if (this.#openLength === 0) return;
    this.pieces.push(new TextEncoder().encode(this.#open.join('')));
    this.#closedBytes += this.#openBytes;
    this.#open = [];
    this.#openLength = 0;
    this.#openBytes = 0;
  }

  toString(): string {
    this.close();
    return this.pieces.map((piece) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(piece)).join('');
  }
}

export function resultText(json: string): ResultText {
  const text = new ResultText();
  text.append(json);
  text.close();
  return text;
}

export interface ResultLimits {
  maxRows: number;
  maxResultBytes: number;
}

/** Builds the JSON of AP-70 row by row, within the limits of AP-71. */
export class RowsJson {
  readonly text = new ResultText();
  readonly #limits: ResultLimits;
  readonly #row: RowWriter;
  #rows = 0;
  #reason: string | null = null;

  constructor(columns: readonly string[], types: readonly string[], limits: ResultLimits) {
    this.#limits = limits;
    this.#row = rowWriter(columns);
    this.text.append(`${openObject(JSON.stringify({ columns, column_types: types }), 'rows')}[`);
  }

  /** True when another row would change nothing. */
  get full(): boolean {
    return this.#reason !== null;
  }

  /** How many rows to request, at most, to see one more than the limit. */
  get wanted(): number {
    return this.#limits.maxRows - this.#rows + 1;
  }

  /**
   * Adds a row, or notes that a limit was reached. `rawBytes` is its size in the database's text form; conversion leaves at least
   * half of that, so a row that cannot fit is never converted.
   */
  add(rawBytes: number, convert: () => readonly string[]): void {
    if (this.full) return;
    const { maxRows, maxResultBytes } = this.#limits;
    const room = maxResultBytes - this.text.bytes - TAIL_BYTES;
    if (this.#rows >= maxRows) {
      this.#reason = `row limit reached (${maxRows})`;
      return;
    }
    const row = rawBytes > 2 * room ? null : `${this.#rows === 0 ? '' : ','}${this.#row(convert())}`;
    if (row === null || Buffer.byteLength(row) > room) {
      this.#reason = `size limit reached (${Number((maxResultBytes / 1_048_576).toFixed(3))} MB)`;
      return;
    }
    this.text.append(row);
    this.#rows++;
  }

  /** Ends the text; `tail` holds the last members. */
  finish(tail: { rows_affected?: number } = {}): { text: ResultText; truncated: boolean } {
    const truncated = this.full;
    this.text.append(`]${closeObject({ truncated, truncation_reason: this.#reason, ...tail })}`);
    this.text.close();
    return { text: this.text, truncated };
  }
}

/** Objects when all names differ, else arrays, so that no column is lost (AP-70). */
const rowWriter = (columns: readonly string[]): RowWriter =>
  new Set(columns).size === columns.length ? objectWriter(columns) : arrayText;
