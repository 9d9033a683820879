import { type Refused, refused } from './verdict.js';

/** Why a statement is refused, in the words of SQ-26 to SQ-33 and HD-40, and what to do instead where the reason tells. */
export type Reason = keyof typeof hints;

export const migration = 'use a migration';
const hints = {
  privileges: null,
  code: migration,
  infrastructure: migration,
  'transaction control': 'leave it out: the agent begins and ends the transaction',
  locks: null,
  'session state': null,
  'server files or client data': 'use SELECT or INSERT',
  reserved_table: 'agents keep there what they have run; no request may name it',
  'not understood': null,
} as const satisfies Record<string, string | null>;

/** `<reason>: <what>`, such as `privileges: GRANT ROLE`. */
export function refuseFor(reason: Reason, what: string, hint: string | null = hints[reason]): Refused {
  return refused(`${reason}: ${what}`, hint);
}

/** Turns a node tag into words: `AlterOwnerStmt` becomes ALTER OWNER. */
export function wordsOfTag(tag: string): string {
  const words = tag.replace(/Stmt$/, '').replace(/([a-z])([A-Z])/g, '$1 $2');
  return spelled[tag] ?? words.toUpperCase();
}

/** Refuses a statement by the parser's type of its object: `code: DROP FUNCTION`. */
export function refuseObject(verb: string, object: string): Refused {
  const words = object
    .replace(/^OBJECT_/, '')
    .replace('MATVIEW', 'MATERIALIZED VIEW')
    .replaceAll('_', ' ');
  return refuseFor(reasonByObject[object] ?? 'not understood', `${verb} ${words}`);
}

/** Tags whose words differ from what users write. */
const spelled: Readonly<Record<string, string>> = {
  AlterEnumStmt: 'ALTER TYPE',
  AlterStatsStmt: 'ALTER STATISTICS',
  CheckPointStmt: 'CHECKPOINT',
  ClosePortalStmt: 'CLOSE',
  CompositeTypeStmt: 'CREATE TYPE',
  ConstraintsSetStmt: 'SET CONSTRAINTS',
  CreateEnumStmt: 'CREATE TYPE',
  CreatePLangStmt: 'CREATE LANGUAGE',
  CreateRangeStmt: 'CREATE TYPE',
  CreateStatsStmt: 'CREATE STATISTICS',
  CreateTrigStmt: 'CREATE TRIGGER',
  CreatedbStmt: 'CREATE DATABASE',
  DropdbStmt: 'DROP DATABASE',
  GrantRoleStmt: 'GRANT',
  RuleStmt: 'CREATE RULE',
  SecLabelStmt: 'SECURITY LABEL',
};

const reasonByObject: Readonly<Record<string, Reason>> = {
  OBJECT_ROLE: 'privileges',
  OBJECT_POLICY: 'privileges',
  OBJECT_DEFACL: 'privileges',
  OBJECT_AGGREGATE: 'code',
  OBJECT_CAST: 'code',
  OBJECT_EVENT_TRIGGER: 'code',
  OBJECT_EXTENSION: 'code',
  OBJECT_FUNCTION: 'code',
  OBJECT_LANGUAGE: 'code',
  OBJECT_OPCLASS: 'code',
  OBJECT_OPERATOR: 'code',
  OBJECT_OPFAMILY: 'code',
  OBJECT_PROCEDURE: 'code',
  OBJECT_ROUTINE: 'code',
  OBJECT_RULE: 'code',
  OBJECT_TRIGGER: 'code',
  OBJECT_ATTRIBUTE: 'infrastructure',
  OBJECT_COLLATION: 'infrastructure',
  OBJECT_DATABASE: 'infrastructure',
  OBJECT_DOMAIN: 'infrastructure',
  OBJECT_DOMCONSTRAINT: 'infrastructure',
  OBJECT_FDW: 'infrastructure',
  OBJECT_FOREIGN_SERVER: 'infrastructure',
  OBJECT_FOREIGN_TABLE: 'infrastructure',
  OBJECT_INDEX: 'infrastructure',
  OBJECT_MATVIEW: 'infrastructure',
  OBJECT_PUBLICATION: 'infrastructure',
  OBJECT_SCHEMA: 'infrastructure',
  OBJECT_STATISTIC_EXT: 'infrastructure',
  OBJECT_SUBSCRIPTION: 'infrastructure',
  OBJECT_TABLESPACE: 'infrastructure',
  OBJECT_TSCONFIGURATION: 'infrastructure',
  OBJECT_TSDICTIONARY: 'infrastructure',
  OBJECT_TSPARSER: 'infrastructure',
  OBJECT_TSTEMPLATE: 'infrastructure',
  OBJECT_TYPE: 'infrastructure',
  OBJECT_USER_MAPPING: 'infrastructure',
  OBJECT_VIEW: 'infrastructure',
};
