import { sqlTokens } from '../../lib/sql-tokens.js';
import type { Schema } from '../http/client.js';
import { operationText } from './request-text.js';

type Asked = Pick<Schema['RequestItem'], 'operation' | 'detail'> & Partial<Pick<Schema['Request'], 'context'>>;

const schemaWords = new Set('CREATE ALTER DROP TRUNCATE RENAME COMMENT REINDEX CLUSTER OPTIMIZE'.split(' '));
const rowWords = new Set('INSERT UPDATE DELETE MERGE REPLACE WITH'.split(' '));

/**
 * What a request does, in a few words. Of SQL the API tells only whether it writes. That it changes the schema is said by its risk where that was
 * judged, and by the first words of its statements, which are a guess of ours.
 */
export function changeText({ operation, detail, context }: Asked): string {
  if (operation !== 'execute_dml') return operationText(operation);
  const words = firstWords(detail);
  const isJudgedSo = context?.risk?.factors.some(({ name }) => name === 'ddl' || name === 'safe_ddl') ?? false;
  if (!isJudgedSo && !words.some((word) => schemaWords.has(word))) return operationText(operation);
  return words.some((word) => rowWords.has(word)) ? 'write and schema change' : 'schema change';
}

/** Of a longer text, only this much is looked at: a list has many. */
const maxLookedAt = 60_000;

/** The word that each statement begins with. */
function firstWords(sql: string): string[] {
  const words: string[] = [];
  let isAtStart = true;
  for (const { kind, text } of sqlTokens(sql.slice(0, maxLookedAt))) {
    if (kind === 'comment') continue;
    if (isAtStart && /^[a-z]/i.test(text)) {
      words.push(text.toUpperCase());
      isAtStart = false;
    }
    if (kind === 'plain' && text.includes(';') && !/^["`#]/.test(text)) isAtStart = true;
  }
  return words;
}
