import { createClient } from './agent.js';
import type { AgentConfig } from './config.js';
import { createDriver } from './drivers/create.js';
import { ConnectFailure } from './drivers/driver.js';
import { fetchKeys } from './key-ring.js';
import type { Timings } from './timings.js';

/** Reaches the server and every database, and reports markers; changes nothing. Resolves with the exit code (`--check`). */
export async function checkAgent(
  config: AgentConfig,
  version: string,
  timings: Timings,
  print: (line: string) => void,
): Promise<number> {
  const client = createClient({ config, version, timings });
  let good = true;
  try {
    const keys = await fetchKeys(client, timings, AbortSignal.timeout(timings.httpMs));
    print(keys.ok ? `server: ok, ${keys.keys.size} public key(s)` : `server: ${keys.why}`);
    good = keys.ok;
  } finally {
    client.close();
  }
  for (const database of config.databases) {
    const name = `${database.database}/${database.environment}`;
    const driver = createDriver(database, config, timings);
    try {
      const { markerReady, markerProblem, readProblem } = await driver.connect({ onlyLook: true });
      const marker = markerReady ? 'markers: ok' : `markers: ${markerProblem ?? 'off'}`;
      print(`database ${name}: ok, ${marker}`);
      if (readProblem !== null) print(`database ${name}: warning: ${readProblem}`);
      if (!markerReady && config.marker.mode === 'required') good = false;
    } catch (error) {
      good = false;
      const failed = error instanceof ConnectFailure ? `${error.kind} failed: ${error.message}` : 'failed';
      print(`database ${name}: ${failed}`);
    } finally {
      await driver.close();
    }
  }
  return good ? 0 : 1;
}
