import { createClient } from './agent.js';
import type { AgentConfig, DatabaseConfig } from './config-values.js';
import { createDriver } from './drivers/create.js';
import { type Connected, ConnectFailure } from './drivers/driver.js';
import { fetchKeys } from './key-ring.js';
import { noneTrusted } from './startup.js';
import type { Timings } from './timings.js';

type Print = (line: string) => void;

/**
 * Connects to the server and every database, and reports on marker tables; changes nothing. Resolves with the exit code
 * (`--check`).
 */
export async function checkAgent(config: AgentConfig, version: string, timings: Timings, print: Print): Promise<number> {
  const client = createClient({ config, version, timings });
  const { trustedKeys } = config.server;
  const keys = await fetchKeys(client, { timings, trustedKeys }, AbortSignal.timeout(timings.httpMs));
  client.close();
  const count = keys.ok ? keys.keys.size : 0;
  const trusted = count > 0;
  if (trusted) print(`server: ok, ${count} public key${count === 1 ? '' : 's'}`);
  else print(`server: ${keys.ok ? noneTrusted(keys.others) : keys.why}`);
  const good = [trusted];
  for (const database of config.databases) good.push(await checkDatabase(database, config, timings, print));
  return good.every(Boolean) ? 0 : 1;
}

async function checkDatabase(database: DatabaseConfig, config: AgentConfig, timings: Timings, print: Print): Promise<boolean> {
  const say = (text: string) => print(`database ${database.database}/${database.environment}: ${text}`);
  const driver = createDriver(database, config, timings);
  try {
    const connected = await driver.connect({ onlyLook: true });
    say(`ok, ${markerWords(connected, config)}`);
    for (const problem of [connected.readProblem, connected.nameProblem, connected.markerNote])
      if (problem !== null) say(`warning: ${problem}`);
    return connected.markerReady || config.marker.mode !== 'required';
  } catch (error) {
    say(error instanceof ConnectFailure ? `${error.kind} failed: ${error.message}` : 'failed');
    return false;
  } finally {
    await driver.close();
  }
}

function markerWords({ markerReady, markerProblem }: Connected, { marker }: AgentConfig): string {
  if (markerReady) return 'markers: ok';
  return markerProblem === null ? `markers: ${marker.mode}` : `markers: ${markerProblem}`;
}
