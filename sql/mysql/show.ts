import type { Rule } from './form.js';
import { hasWords, skipWords, upperAt } from './statement.js';

/** The kinds of SHOW of SQ-71. A listed call in its WHERE counts as it does everywhere. */
export const show: Rule = (statement, at) => {
  const kindAt = skipWords(statement, at, modifiers);
  const known =
    kinds.has(upperAt(statement, kindAt)) ||
    phrases.some((phrase) => hasWords(statement, kindAt, ...phrase)) ||
    (upperAt(statement, kindAt) === 'CREATE' && creatable.has(upperAt(statement, kindAt + 1)));
  return known ? { class: 'read', kind: 'show', type: 'SELECT', inside: 'runs' } : null;
};

const modifiers = new Set(['FULL', 'EXTENDED', 'GLOBAL', 'SESSION', 'LOCAL', 'STORAGE']);
const kinds = new Set(
  `DATABASES SCHEMAS TABLES COLUMNS FIELDS INDEX INDEXES KEYS VARIABLES STATUS COLLATION CHARSET ENGINES WARNINGS ERRORS TRIGGERS
  EVENTS VIEWS GRANTS`.split(/\s+/),
);
const phrases = [
  ['TABLE', 'STATUS'],
  ['CHARACTER', 'SET'],
  ['FUNCTION', 'STATUS'],
  ['PROCEDURE', 'STATUS'],
] as const;
/** USER is left out because its answer holds password hashes. */
const creatable = new Set(['TABLE', 'VIEW', 'DATABASE', 'SCHEMA', 'FUNCTION', 'PROCEDURE', 'TRIGGER', 'EVENT']);
