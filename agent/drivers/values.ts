import { isUtf8 } from 'node:buffer';
import { isJsonText } from '../../lib/json/scan.js';
import { RowsJson } from '../result-json.js';
import type { Run } from './driver.js';

/** Converts one value from the bytes of the database's text form to JSON text. */
export type ValueWriter = (bytes: Buffer) => string;

export interface ResultColumns {
  names: string[];
  types: string[];
  writers: ValueWriter[];
}

/** Collects a result's rows as JSON; `onRow` takes a row and returns its size in bytes. */
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

/** Only a PostgreSQL database with the encoding SQL_ASCII can send invalid UTF-8. */
export const writeText: ValueWriter = (bytes) => {
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') && !isUtf8(bytes) ? `"\\\\x${bytes.toString('hex')}"` : JSON.stringify(text);
};

/** Passes valid JSON through unchanged (agent-process.md section 10), without building it: that would take many times its size (AP-72). */
export const writeJson: ValueWriter = (bytes) => (isJsonText(bytes) && isUtf8(bytes) ? bytes.toString('utf8') : writeText(bytes));
