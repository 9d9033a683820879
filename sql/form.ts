import type { StatementKind } from '../domain/statement.js';
import type { ReservedNames } from './reserved-table.js';

/** What a statement is before its inside is looked at. */
export interface Form {
  class: 'read' | 'write' | 'ddl' | 'setting';
  kind: StatementKind;
  /** The verb of SQ-65. */
  type: string;
  /** What of the inside counts: all that runs (SQ-40), only listed calls (SQ-43), nothing (definitions, SQ-44). */
  inside: 'runs' | 'planned' | 'defined';
  destructive?: boolean;
  outsideTransaction?: boolean;
}

export interface FormLimits extends ReservedNames {
  statementTimeoutSecs: number;
}
