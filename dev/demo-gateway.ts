import { prepareGatewayDatabase, prepareShop } from './databases.js';
import { addPostgres, addTemporal } from './engines.js';
import { addGateway } from './gateway.js';
import { planDemo } from './gateway-plan.js';
import type { DemoIdentity } from './identity/provider.js';
import type { Layout } from './layout.js';
import { loadPasswords } from './passwords.js';
import type { Stage } from './play.js';
import { coverIpv6 } from './ports.js';
import type { Report } from './report.js';
import type { Session } from './session.js';
import { awaitSnapshots } from './snapshots.js';
import { prepareUsers, writeLoginConfig } from './users.js';

export interface DemoPorts {
  api: number;
  ui: number;
  /** Of the identity provider; absent: there is none (DV-14). */
  oidc?: number;
}

/** Starts the demo in a folder locked by this process: engines, databases, gateway, users. */
export async function startDemo(session: Session, layout: Layout, ports: DemoPorts, report: Report): Promise<Stage> {
  session.atEnd(await coverIpv6(ports.api));
  const passwords = loadPasswords(layout.passwords);
  const identity = ports.oidc === undefined ? null : await addIdentity(session, ports.oidc, report);
  const [postgres, temporal] = await session.together([
    addPostgres(session, layout, passwords, report),
    addTemporal(session, layout, ports.ui, report),
  ]);
  const [databaseUrl] = await session.together([prepareGatewayDatabase(postgres, passwords), prepareShop(postgres, passwords)]);
  const plan = await planDemo(layout, { apiPort: ports.api, postgres, passwords, databaseUrl, temporal, identity });
  await addGateway(session, layout, plan, report);
  await prepareUsers(layout, plan.serverUrl);
  await awaitSnapshots(layout, plan.serverUrl, session.signal, report);
  if (identity !== null) writeLoginConfig(layout, plan.serverUrl, identity);
  const { serverUrl } = plan;
  return { layout, serverUrl, uiUrl: temporal.uiUrl, signal: session.signal, report, people: identity?.people ?? [] };
}

/** Its code is loaded only where it runs. */
async function addIdentity(session: Session, port: number, report: Report): Promise<DemoIdentity> {
  const done = report.begin('logins');
  const { startIdentityProvider } = await import('./identity/provider.js');
  const identity = await startIdentityProvider(port, ['alice', 'bob']);
  session.atEnd(identity.close);
  done(identity.issuer);
  return identity;
}
