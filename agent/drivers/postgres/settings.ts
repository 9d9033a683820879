import { ConnectFailure } from '../driver.js';
import type { Step } from './exchange.js';

/** Where unqualified names are looked for unless the database's configuration sets a path. */
export const DEFAULT_SEARCH_PATH = '"$user", public';

/** The session settings that decide what texts and names mean and how values are written, with the values used here (HD-30). */
export interface FixedSettings {
  /** Start options override settings of role and database, and `DISCARD ALL` returns to them. */
  readonly startOptions: readonly string[];
  /** Asks for the settings; pass its row to `problemIn`. */
  readonly look: Step;
  /** What is wrong in a row of `look`, or null. */
  problemIn(row: readonly (string | null)[] | undefined, own: OwnSettings): WrongSetting | null;
  /** Restores in the open transaction all of the settings: a function of an earlier statement may have changed them. */
  keepMeaning(own: OwnSettings): Step;
  /** The same for texts that may change settings, but not how texts are parsed. */
  keepReading(own: OwnSettings): Step;
}

export interface WrongSetting {
  name: string;
  /** A sentence with its values. */
  problem: string;
}

/** What depends on the database and the account; fixed for the life of a session. */
export interface OwnSettings {
  /** SQL_ASCII where the database has no encoding: it sends invalid UTF-8 only to a client without one (agent-process.md section 10). */
  encoding: 'UTF8' | 'SQL_ASCII';
  /** `none`, or the role of ALTER ROLE … SET ROLE; `$user` in the path stands for it. */
  role: string;
}

/** How a text is split into words. */
const reading = { standard_conforming_strings: 'on', backslash_quote: 'safe_encoding' };
/** What its words and names mean. */
const meaning = {
  transform_null_equals: 'off',
  array_nulls: 'on',
  xmloption: 'content',
  row_security: 'on',
  IntervalStyle: 'postgres',
};
/** How values are written (agent-process.md section 10), and how a text's are read; it may set some of them (SQ-50). */
const forms = {
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  quote_all_identifiers: 'off',
};

export function fixedSettings(searchPath: string, readOnly: boolean): FixedSettings {
  const started: Record<string, string> = {
    ...reading,
    ...meaning,
    ...forms,
    search_path: searchPath,
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
  };
  // Only a superuser may set this, even to its current value.
  const expected = Object.entries({ ...started, [REPLICATION_ROLE]: 'origin' });
  const names = [...expected.map(([name]) => name), 'client_encoding', 'role'];
  return {
    startOptions: Object.entries({ ...started, client_encoding: 'UTF8' }).map(
      ([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`,
    ),
    look: { kind: 'run', text: `select ${names.map((name) => `pg_catalog.current_setting('${name}')`).join(', ')}` },
    problemIn(row, { encoding, role }) {
      const all = [...expected, ['client_encoding', encoding], ['role', role]] as const;
      const at = all.findIndex(([, value], index) => row?.[index] !== value);
      const [name, value] = all[at] ?? [];
      if (name === undefined) return null;
      return { name, problem: `the setting ${name} is '${row?.[at] ?? ''}' instead of '${value}'` };
    },
    keepMeaning: ({ encoding, role }) =>
      setAgain({ ...reading, ...meaning, ...forms, search_path: searchPath, client_encoding: encoding, role }, originAgain),
    keepReading: ({ encoding }) => setAgain({ ...reading, client_encoding: encoding }),
  };
}

function setAgain(settings: Record<string, string>, ...further: string[]): Step {
  const values = Object.values(settings);
  const calls = Object.keys(settings).map((name, index) => `pg_catalog.set_config('${name}', $${index + 1}, true)`);
  return { kind: 'run', text: `select ${[...calls, ...further].join(', ')}`, values };
}

export const REPLICATION_ROLE = 'session_replication_role';
/** Sets what start options cannot, where the role may; `DISCARD ALL` undoes it. */
export const BE_ORIGIN = `set ${REPLICATION_ROLE} to 'origin'`;
/** Fails for a role that may not set it, because what follows would run without triggers. */
const originAgain = `case when pg_catalog.current_setting('${REPLICATION_ROLE}') operator(pg_catalog.<>) 'origin'
  then pg_catalog.set_config('${REPLICATION_ROLE}', 'origin', true) end`;

/** A setting that stays wrong after the agent has set it needs a person to fix it. */
export function differs({ name, problem }: WrongSetting): ConnectFailure {
  const advice =
    name === REPLICATION_ROLE
      ? 'only a superuser can set it back'
      : 'a pooler drops the start options of sessions; give them to the role, or use the server itself';
  return new ConnectFailure('connection', `${problem}: ${advice}`);
}
