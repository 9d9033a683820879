import { withoutReadingModes } from '../../../sql/mysql/settings.js';

/** What a session sets, and how it reads the values in force (HD-30). */
export interface FixedSettings {
  /** One statement with a placeholder for `sql_mode`. */
  set: string;
  /** Returns `sql_mode`, the settings of `values`, the database, the role and `lower_case_table_names`. */
  look: string;
  values: readonly (readonly [name: string, value: string])[];
  /** Restores the settings that a procedure of an earlier statement may have changed. */
  keep: string;
}

/** Keeps the server's modes, except those that change how a text is parsed. */
export function fixedSettings(
  { isMariadb, readOnlyVariable }: { isMariadb: boolean; readOnlyVariable: string },
  readOnly: boolean,
): FixedSettings {
  const meaning = [
    ['foreign_key_checks', '1'],
    ['unique_checks', '1'],
    ['sql_auto_is_null', '0'],
    ['sql_select_limit', '18446744073709551615'],
    ...(isMariadb ? [['check_constraint_checks', '1'] as const, ['sql_if_exists', '0'] as const] : []),
  ] as const;
  const kept = [['time_zone', '+00:00'] as const, ['autocommit', '1'] as const, ...meaning] as const;
  const values = [...kept, ...(readOnly ? [[readOnlyVariable, '1'] as const] : [])] as const;
  const assign = (settings: FixedSettings['values']) =>
    settings.map(([name, value]) => `session ${name} = ${/^\d+$/.test(value) ? value : `'${value}'`}`).join(', ');
  // Already set by SET NAMES.
  const named = ['character_set_client', 'character_set_connection', 'character_set_results'].map(
    (name) => [name, 'utf8mb4'] as const,
  );
  const all = [...values, ...named];
  return {
    set: `set names utf8mb4, session sql_mode = ?, session completion_type = 0, ${assign(values)}`,
    keep: `set ${assign(kept)}`,
    look: `select ${['sql_mode', ...all.map(([name]) => name)].map((name) => `@@session.${name}`).join(', ')}, database(), current_role(), @@lower_case_table_names`,
    values: all,
  };
}

/** What is wrong in an answer to `look`, or null. */
export function settingsProblem(
  { values }: FixedSettings,
  found: readonly (string | null)[],
  database: string | null,
): string | null {
  const [mode, ...rest] = found;
  const wrong = values.findIndex(([, value], index) => rest[index] !== value);
  const [name, value] = values[wrong] ?? [];
  if (name !== undefined) return `the setting ${name} is '${rest[wrong] ?? ''}' instead of '${value}'`;
  if (withoutReadingModes(mode ?? '') !== mode) return `the sql_mode '${mode}' changes how text is read`;
  return isSameName(rest[values.length] ?? null, database, rest.at(-1) === '0')
    ? null
    : 'the session is in another database than its address names';
}

/** With `lower_case_table_names` the server tells a name in other letters than it was given. */
const isSameName = (found: string | null, wanted: string | null, isCaseSensitive: boolean): boolean =>
  isCaseSensitive ? found === wanted : found?.toLowerCase() === wanted?.toLowerCase();

/**
 * Whether the server's names are case-sensitive. A server keeps this for the life of its data, so a different answer comes from a
 * different server.
 */
export interface NameCase {
  /** What is wrong with this `lower_case_table_names`, or null. */
  problem(found: string): string | null;
}

/** Remembers the first answer. */
export function createNameCase(): NameCase {
  let noted: string | null = null;
  return {
    problem(found) {
      noted ??= found;
      return found === noted ? null : `lower_case_table_names is ${found}, and was ${noted} at the start`;
    },
  };
}

export const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;
