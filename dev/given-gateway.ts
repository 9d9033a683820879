import { prepareGatewayDatabase } from './databases.js';
import { addPostgres, addTemporal } from './engines.js';
import { addGateway } from './gateway.js';
import { planGiven, readGivenConfig } from './gateway-plan.js';
import type { Layout } from './layout.js';
import { loadPasswords } from './passwords.js';
import { requirePort, usualPorts } from './ports.js';
import type { Report } from './report.js';
import type { Session } from './session.js';

/** Starts the gateway of a user's own `server.toml`, with embedded engines for what the file does not name (DV-2). */
export async function startGiven(session: Session, layout: Layout, file: string, report: Report): Promise<void> {
  const given = readGivenConfig(file);
  const embedded = async () => {
    const passwords = loadPasswords(layout.passwords);
    return prepareGatewayDatabase(await addPostgres(session, layout, passwords, report), passwords);
  };
  const withTemporal = async () => addTemporal(session, layout, await requirePort('SVC_UI_PORT', usualPorts.ui), report);
  const [databaseUrl, temporal] = await session.together([
    given.needs.postgres ? embedded() : Promise.resolve(null),
    given.needs.temporal ? withTemporal() : Promise.resolve(null),
  ]);
  const plan = planGiven(given, databaseUrl, temporal);
  await addGateway(session, layout, plan, report);
  report.line(`\nThe gateway of ${given.file} runs at ${plan.serverUrl}${plan.agent === null ? ', without an agent' : ''}`);
  report.line('Ctrl-C stops everything; the data stays.');
}
