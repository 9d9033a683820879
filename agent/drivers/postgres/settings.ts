import { ConnectFailure } from '../driver.js';
import type { Step } from './exchange.js';

/** Where unqualified names are looked for unless the pair has a path of its own. */
export const DEFAULT_SEARCH_PATH = '"$user", public';

/** The settings of a session that decide what a text and its names mean and how values are written, with the values they have here (HD-30). */
export interface FixedSettings {
  /** Start options win over settings of role and database, and `DISCARD ALL` comes back to them. */
  readonly startOptions: readonly string[];
  /** Asks what the settings are; its row goes to `problemIn`. */
  readonly look: Step;
  /** What is wrong in a row of `look`, or null. */
  problemIn(row: readonly (string | null)[] | undefined, own: OwnSettings): string | null;
  /** Sets again, for the transaction there is, what a function of an earlier statement may have changed and no text may. */
  keepMeaning(own: OwnSettings): Step;
  /** The same for texts that may change settings themselves, but not how they are read. */
  keepReading(own: OwnSettings): Step;
}

/** What depends on the database and the account; a session keeps what it began with. */
export interface OwnSettings {
  /** SQL_ASCII where the database knows no encoding: what is no UTF-8 it sends only to a client without one (section 10). */
  encoding: 'UTF8' | 'SQL_ASCII';
  /** `none`, or what ALTER ROLE … SET ROLE says; `$user` of the path stands for it. */
  role: string;
}

/** How a text is cut into words. */
const reading = { standard_conforming_strings: 'on', backslash_quote: 'safe_encoding' };
/** What its words and names mean. */
const meaning = {
  ...{ transform_null_equals: 'off', array_nulls: 'on', xmloption: 'content', row_security: 'on' },
  IntervalStyle: 'postgres',
};
/** What a text may set (SQ-50), and how values are written (section 10). */
const forms = {
  ...{ DateStyle: 'ISO, MDY', TimeZone: 'UTC', extra_float_digits: '1', bytea_output: 'hex', quote_all_identifiers: 'off' },
};

export function fixedSettings(searchPath: string, readOnly: boolean): FixedSettings {
  const started: Record<string, string> = {
    ...{ ...reading, ...meaning, ...forms, search_path: searchPath },
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
  };
  // Only a superuser may give this one a value, even the one that it has.
  const expected = Object.entries({ ...started, session_replication_role: 'origin' });
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
      return name === undefined ? null : `the setting ${name} is '${row?.[at] ?? ''}' instead of '${value}'`;
    },
    keepMeaning: ({ encoding, role }) =>
      setAgain({ ...reading, ...meaning, search_path: searchPath, client_encoding: encoding, role }),
    keepReading: ({ encoding }) => setAgain({ ...reading, client_encoding: encoding }),
  };
}

function setAgain(settings: Record<string, string>): Step {
  const values = Object.values(settings);
  const calls = Object.keys(settings).map((name, index) => `pg_catalog.set_config('${name}', $${index + 1}, true)`);
  return { kind: 'run', text: `select ${calls.join(', ')}`, values };
}

/** Sets what start options cannot, where the role may; `DISCARD ALL` takes it back. */
export const BE_ORIGIN = "set session_replication_role to 'origin'";

/** What stays different after the agent has set it is for a person to put right. */
export function differs(problem: string): ConnectFailure {
  const advice = problem.includes('session_replication_role')
    ? 'only a superuser can set it back'
    : 'a pooler drops the start options of sessions; give them to the role, or use the server itself';
  return new ConnectFailure('connection', `${problem}: ${advice}`);
}
