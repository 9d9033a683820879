import { type AuditEvent, auditEventKeys } from './event.js';

export type ExportFormat = 'ndjson' | 'csv';

/** The last line of an export (AU-62). The signature is over `exportText` of its first four members. */
export interface Manifest {
  first_seq: number | null;
  last_seq: number | null;
  count: number;
  last_hash: string | null;
  filters: Readonly<Record<string, string>>;
  public_key: string;
  key_id: string;
  signature: string;
}

/** What stands around the events of an export. */
export const exportForms = {
  ndjson: {
    contentType: 'application/x-ndjson',
    header: '',
    line: (event: AuditEvent) => `${jsonLine(plainEvent(event))}\n`,
    manifest: (manifest: Manifest) => `${jsonLine({ manifest })}\n`,
  },
  csv: {
    contentType: 'text/csv; charset=utf-8',
    header: `${auditEventKeys.join(',')}\r\n`,
    line: (event: AuditEvent) => `${auditEventKeys.map((key) => cell(event[key])).join(',')}\r\n`,
    manifest: (manifest: Manifest) => `#${jsonLine({ manifest })}\r\n`,
  },
} as const;

/** An event without what its row has besides. */
export const plainEvent = (event: AuditEvent) => Object.fromEntries(auditEventKeys.map((key) => [key, event[key]]));

/** Some readers take these three for the end of a line too. */
const otherLineEnds = /[\u0085\u2028\u2029]/g;
const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(otherLineEnds, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A spreadsheet would calculate a cell that begins like this. */
const startsFormula = /^[=+\-@\t]/;

/** RFC 4180. Null and the empty text are the same cell, as they are for the hash. */
function cell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const harmless = startsFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The texts that a cell may stand for: an apostrophe before what begins like a formula was added, or belongs to the text. */
export const cellReadings = (text: string): string[] => (/^'[=+\-@\t]/.test(text) ? [text.slice(1), text] : [text]);
