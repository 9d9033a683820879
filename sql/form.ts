import type { StatementClass, StatementKind } from '../domain/statement.js';
import type { ReservedNames } from './reserved-table.js';

/** What is known of a statement before its inside is examined. */
export interface Form {
  class: 'read' | 'write' | 'ddl' | 'setting';
  kind: StatementKind;
  /** The verb of SQ-65. */
  type: string;
  /** Which of the inside counts: everything that runs (SQ-40), only listed calls (SQ-43), or nothing (definitions, SQ-44). */
  inside: 'runs' | 'planned' | 'defined';
  destructive?: boolean;
  outsideTransaction?: boolean;
}

export interface FormLimits extends ReservedNames {
  statementTimeoutSecs: number;
}

export const ddl = (type: string): Form => ({ class: 'ddl', kind: 'ddl', type, inside: 'defined' });

/** Which class the form and what was found inside make (SQ-40, SQ-43). */
export function classOf(form: Form, found: { calls: boolean; writes: boolean; creates: boolean }): StatementClass {
  if (form.class === 'setting') return 'setting';
  const runs = form.inside === 'runs';
  const write = form.class === 'write' || (form.inside !== 'defined' && found.calls) || (runs && found.writes);
  const isDdl = form.class === 'ddl' || (runs && found.creates);
  if (write) return isDdl ? 'write+ddl' : 'write';
  return isDdl ? 'ddl' : 'read';
}
