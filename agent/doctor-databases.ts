import { within } from '../lib/deadline.js';
import { type Check, type Finding, failed, passed, skipped, warned } from '../lib/doctor-checks.js';
import type { AgentConfig, DatabaseConfig } from './config-values.js';
import { createDriver } from './drivers/create.js';
import { type Connected, ConnectFailure, type Driver } from './drivers/driver.js';
import { MISSING_TABLE } from './marker.js';
import type { Timings } from './timings.js';

const ids = ['db_connect', 'db_read_only_role', 'marker_ready'] as const;

/** The checks of each database that are not made, and why. */
export const skippedDatabases = (why: string): Check[] => ids.map((id) => ({ id, ...skipped(why) }));

/** Connects all databases at once, and changes nothing there. */
export async function checkDatabases(config: AgentConfig, timings: Timings): Promise<Check[]> {
  const found = await Promise.all(config.databases.map((one) => checkDatabase(one, config, timings)));
  return ids.flatMap((id, at) =>
    found.map((findings, index) => {
      const { database, environment } = config.databases[index]!;
      const { message, details, ...rest } = findings[at]!;
      const name = `${database}/${environment}`;
      return { id, ...rest, message: `${name}: ${message}`, details: { database: name, ...details } };
    }),
  );
}

async function checkDatabase(one: DatabaseConfig, config: AgentConfig, timings: Timings): Promise<Finding[]> {
  const driver = createDriver(one, config, timings);
  try {
    const connecting = driver.connect({ onlyLook: true });
    const connected = await within(connecting, timings.silentMs * 2, null);
    if (connected === null) throw new ConnectFailure('connection', 'no answer in time');
    return [connection(connected), await readRole(one, driver, timings), markers(connected, config)];
  } catch (error) {
    return [unreached(error), skipped('needs db_connect'), skipped('needs db_connect')];
  } finally {
    await within(driver.close(), timings.silentMs, undefined);
  }
}

function connection({ nameProblem }: Connected): Finding {
  return nameProblem === null ? passed('connected') : warned(nameProblem, { hint: 'set search_path of the pair' });
}

function unreached(error: unknown): Finding {
  if (!(error instanceof ConnectFailure)) return failed('could not be checked: an error inside the agent');
  const hint =
    error.kind === 'authentication'
      ? 'check user and password of url and read_url, and whether the database lets this host in'
      : 'check host, port and sslmode of url and read_url, and whether the network lets this host through';
  return failed(`${error.kind} failed: ${error.message}`, { hint, details: { kind: error.kind } });
}

async function readRole(one: DatabaseConfig, driver: Driver, timings: Timings): Promise<Finding> {
  const asked = driver.readRoleRights().then(
    (rights) => ({ rights }),
    () => null,
  );
  const answer = await within(asked, timings.silentMs * 2, null);
  if (answer === null)
    return warned('what the role of reads may do could not be asked', { hint: 'try again, with a longer --timeout' });
  const { rights } = answer;
  if (rights === null) return passed('the role of reads cannot write');
  const hint =
    one.readUrl === one.url ? 'set read_url to a role that can only SELECT' : 'take these rights from the role of read_url';
  return warned(rights, { hint });
}

function markers({ markerReady, markerProblem, markerNote }: Connected, { marker }: AgentConfig): Finding {
  const hint = 'svc-agent --print-marker-ddl postgresql (or mysql) prints what to run, docs/agent.md which rights are needed';
  if (marker.mode === 'off') return skipped('markers are off');
  if (markerReady)
    return markerNote === null ? passed('ready') : warned(markerNote, { hint: 'make a schema svc that the role may use' });
  if (markerProblem === MISSING_TABLE) return passed(markerProblem);
  const problem = markerProblem ?? 'no marker rows can be written';
  return marker.mode === 'required' ? failed(problem, { hint }) : warned(problem, { hint });
}
