import { type AuditEvent, auditEventKeys, exactFilters, hashedKeys, type SealedEvent } from './event.js';
import { cellReadings, type ExportFormat, exportForms, type Manifest } from './export-format.js';

/** Whether an export with these filters may have the event. */
export function passesFilters(event: AuditEvent, filters: Manifest['filters']): boolean {
  return Object.entries(filters).every(([name, value]) => {
    if (name === 'since') return event.created_at >= value;
    if (name === 'until') return event.created_at <= value;
    const key = Object.hasOwn(exactFilters, name) ? exactFilters[name as keyof typeof exactFilters] : undefined;
    return key !== undefined && event[key] === value;
  });
}

/**
 * The event of one line, which must be exactly as exports write it: any other byte makes it malformed. `isHashed` chooses between the texts that a
 * cell of a CSV may stand for. Null = malformed.
 */
export function parseEventLine(
  format: ExportFormat,
  line: string,
  isHashed: (event: SealedEvent) => boolean,
): SealedEvent | null {
  const readings = format === 'csv' ? csvReadings(line) : jsonReadings(line);
  const exact = readings.filter(isSealedEvent).filter((event) => exportForms[format].line(event) === line);
  return exact.find(isHashed) ?? exact[0] ?? null;
}

/** The manifest of the last line; null if it is not one, or not exactly as exports write it. */
export function parseManifestLine(format: ExportFormat, line: string): Manifest | null {
  const value = jsonOf(format === 'csv' && line.startsWith('#') ? line.slice(1) : line);
  const manifest = (value as { manifest?: unknown } | null)?.manifest;
  if (typeof manifest !== 'object' || manifest === null) return null;
  const { first_seq, last_seq, count, last_hash, filters, public_key, key_id, signature } = manifest as Manifest;
  const whole = [first_seq, last_seq].every((seq) => seq === null || Number.isSafeInteger(seq)) && Number.isSafeInteger(count);
  const texts = [public_key, key_id, signature, last_hash ?? ''].every((text) => typeof text === 'string');
  const named = typeof filters === 'object' && filters !== null && Object.values(filters).every((one) => typeof one === 'string');
  const read = { first_seq, last_seq, count, last_hash, filters, public_key, key_id, signature };
  return whole && texts && named && exportForms[format].manifest(read) === line ? read : null;
}

const isMaybe = (value: unknown) => value === null || typeof value === 'string';

function isSealedEvent(event: Partial<Record<keyof AuditEvent, unknown>>): event is SealedEvent {
  const isWhole = (value: unknown) => Number.isSafeInteger(value);
  return (
    isWhole(event.seq) &&
    isWhole(event.event_version) &&
    typeof event.event_hash === 'string' &&
    (['id', 'event_type', 'metadata_json', 'created_at'] as const).every((key) => typeof event[key] === 'string') &&
    hashedKeys.every((key) => key === 'event_version' || isMaybe(event[key]))
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Reading = Partial<Record<keyof AuditEvent, unknown>>;

function jsonReadings(line: string): Reading[] {
  const value = jsonOf(line);
  return typeof value === 'object' && value !== null ? [value] : [];
}

/** Up to so many cells of an event with an apostrophe before a formula are tried both ways; with more, the apostrophes count as added. */
const mostUnsure = 6;

function csvReadings(line: string): Reading[] {
  const cells = [...line.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:,|\r\n$)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  );
  if (cells.length !== auditEventKeys.length) return [];
  const unsure = cells.filter((text) => cellReadings(text).length > 1).length;
  const numbers = new Set<string>(['event_version', 'seq']);
  let readings: Reading[] = [{}];
  for (const [at, key] of auditEventKeys.entries()) {
    const texts = unsure > mostUnsure ? cellReadings(cells[at]!).slice(0, 1) : cellReadings(cells[at]!);
    const values = texts.map((text) => (numbers.has(key) ? Number(text) : text === '' ? null : text));
    readings = readings.flatMap((reading) => values.map((value) => ({ ...reading, [key]: value })));
  }
  return readings;
}
