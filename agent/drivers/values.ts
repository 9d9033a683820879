import { isUtf8 } from 'node:buffer';
import { RowsJson } from '../result-json.js';
import type { Run } from './driver.js';

/** JSON text of one value, given the bytes of the database's text form. */
export type ValueWriter = (bytes: Buffer) => string;

export interface ResultColumns {
  names: string[];
  types: string[];
  writers: ValueWriter[];
}

/** The JSON of a result's rows; `onRow` takes a row and tells its size in bytes. */
export function rowSink({ names, types, writers }: ResultColumns, run: Run) {
  const json = new RowsJson(names, types, run.limits);
  const onRow = (fields: readonly (Buffer | null)[]): number => {
    let bytes = 0;
    for (const field of fields) bytes += field?.length ?? 0;
    json.add(bytes, () => fields.map((field, index) => (field === null ? 'null' : (writers[index] ?? writeText)(field))));
    return bytes;
  };
  return { json, onRow };
}

/** A text that is no valid UTF-8 can only come from a PostgreSQL database whose encoding is SQL_ASCII. */
export const writeText: ValueWriter = (bytes) => {
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') && !isUtf8(bytes) ? `"\\\\x${bytes.toString('hex')}"` : JSON.stringify(text);
};

/** The text itself where it is JSON (section 10). */
export const writeJson: ValueWriter = (bytes) => {
  const text = bytes.toString('utf8');
  try {
    JSON.parse(text);
    return isUtf8(bytes) ? text : writeText(bytes);
  } catch {
    return writeText(bytes);
  }
};
