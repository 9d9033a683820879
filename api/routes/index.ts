import type { Readiness } from '../../runtime/readiness.js';
import { version } from '../../runtime/version.js';
import { openApiDocument } from '../openapi.js';
import type { Route } from '../route.js';
import { agentRoutes } from './agent.js';
import { agentListRoutes } from './agents.js';
import { auditRoutes } from './audit.js';
import { readOnlyPaths } from './config-read-only.js';
import { databaseRoutes } from './databases.js';
import { explainRoutes } from './explain.js';
import { groupRoutes } from './groups.js';
import { meRoutes } from './me.js';
import { operationRoutes } from './operations.js';
import { policyRoutes } from './policies.js';
import { preflightRoutes } from './preflight.js';
import { publicKeyRoutes } from './public-key.js';
import { type RequestTimes, requestRoutes } from './requests.js';
import { resultRoutes } from './results.js';
import { roleRoutes } from './roles.js';
import { schemaRoutes } from './schemas.js';
import { tokenRoutes } from './tokens.js';
import { userRoutes } from './users.js';

export { readOnlyPaths } from './config-read-only.js';

/** Times without a key in `server.toml`, in milliseconds. */
export interface RouteTimes extends RequestTimes {
  /** How long a result stream waits (section 8 of the HTTP rules). */
  resultWaitMs: number;
  /** The shortest lease (AG-37). */
  leaseFloorMs: number;
}

export const defaultTimes: RouteTimes = {
  dispatchMs: 300_000,
  cancelWaitMs: 20_000,
  resultWaitMs: 300_000,
  leaseFloorMs: 60_000,
};

/** Every route of the server; the document, the router and the tests read this one list. */
export function allRoutes(ready: () => Promise<Readiness>, times: RouteTimes): Route[] {
  let known: string | null = null;
  const document = () => {
    known ??= openApiText(routes);
    return known;
  };
  const routes: Route[] = [
    ...requestRoutes(times),
    ...resultRoutes({ waitMs: times.resultWaitMs }),
    ...agentRoutes(times),
    ...agentListRoutes,
    ...explainRoutes,
    ...preflightRoutes,
    ...schemaRoutes,
    ...databaseRoutes,
    ...policyRoutes,
    ...publicKeyRoutes,
    ...auditRoutes,
    ...meRoutes,
    ...userRoutes,
    ...groupRoutes,
    ...tokenRoutes,
    ...roleRoutes,
    ...operationRoutes(ready, document),
  ];
  return routes;
}

/** The document as it is served and committed. */
export const openApiText = (routes: readonly Route[]) =>
  `${JSON.stringify(openApiDocument(routes, readOnlyPaths, version), null, 2)}\n`;
