import type { Readiness } from '../runtime/readiness.js';
import { version } from '../runtime/version.js';
import { explainRoutes } from './agent/explain-routes.js';
import { agentListRoutes } from './agent/list-routes.js';
import { publicKeyRoutes } from './agent/public-key-routes.js';
import { agentRoutes } from './agent/routes.js';
import { anchorRoutes } from './audit/anchor-routes.js';
import { auditRoutes } from './audit/routes.js';
import { treeRoutes } from './audit/tree-routes.js';
import { oidcRoutes } from './console/oidc-routes.js';
import { pageRoutes } from './console/page-routes.js';
import { consoleRoutes } from './console/routes.js';
import { databaseRoutes } from './databases/routes.js';
import { eventRoutes } from './events/routes.js';
import { openApiDocument } from './http/openapi.js';
import type { Route } from './http/route.js';
import { groupRoutes } from './identity/group-routes.js';
import { meRoutes } from './identity/me-routes.js';
import { roleRoutes } from './identity/role-routes.js';
import { tokenRoutes } from './identity/token-routes.js';
import { userRoutes } from './identity/user-routes.js';
import { mcpRoutes } from './mcp/routes.js';
import { operationRoutes } from './operations/routes.js';
import { startPageRoute } from './operations/start-page.js';
import { policyRoutes } from './policies/routes.js';
import { preflightRoutes } from './preflight/routes.js';
import { linkPageRoute } from './requests/link-page.js';
import { type RequestTimes, requestRoutes } from './requests/routes.js';
import { resultRoutes } from './results/routes.js';
import { slackRoutes } from './slack/routes.js';
import { schemaRoutes } from './snapshots/routes.js';
import { webhookRoutes } from './webhooks/routes.js';

/** Resources that only `server.toml` changes. Every write to their lists and items is 405 `config.read_only` (HT-96, CF-70). */
export const readOnlyPaths: readonly string[] = [
  '/api/roles',
  '/api/roles/:name',
  ...['workflows', 'execution-policies', 'sql-review-policies', 'result-policies', 'notification-policies', 'webhooks'].flatMap(
    (name) => [`/api/${name}`, `/api/${name}/:id`],
  ),
];

/** Times without a key in `server.toml`, in milliseconds. */
export interface RouteTimes extends RequestTimes {
  /** How long a result stream waits (http.md section 8). */
  resultWaitMs: number;
  /** The shortest lease (AG-37). */
  leaseFloorMs: number;
  /** How long a poll claims what it finds (AG-80). */
  claimWithinMs: number;
  /** How long a caller may take nothing of an answer before its connection is broken. */
  stallMs: number;
  /** After how long a silence a stream of MCP says that it lives (MC-22). */
  commentMs: number;
}

export const defaultTimes: RouteTimes = {
  dispatchMs: 300_000,
  cancelWaitMs: 20_000,
  resultWaitMs: 300_000,
  leaseFloorMs: 60_000,
  claimWithinMs: 250,
  stallMs: 60_000,
  commentMs: 15_000,
};

/** The document, the router and the tests all read this one list. */
export function allRoutes(ready: () => Promise<Readiness>, times: RouteTimes): Route[] {
  let known: string | null = null;
  const document = () => {
    known ??= openApiText(routes);
    return known;
  };
  const routes: Route[] = [
    ...requestRoutes(times),
    linkPageRoute,
    startPageRoute,
    ...resultRoutes({ waitMs: times.resultWaitMs }),
    ...agentRoutes(times),
    ...agentListRoutes,
    ...explainRoutes,
    ...preflightRoutes,
    ...schemaRoutes,
    ...databaseRoutes,
    ...policyRoutes,
    ...webhookRoutes,
    ...publicKeyRoutes,
    ...auditRoutes,
    ...treeRoutes,
    ...anchorRoutes,
    ...meRoutes,
    ...userRoutes,
    ...groupRoutes,
    ...tokenRoutes,
    ...roleRoutes,
    ...consoleRoutes,
    ...oidcRoutes,
    ...pageRoutes,
    ...eventRoutes(times),
    ...slackRoutes(times),
    ...mcpRoutes(() => routes, times),
    ...operationRoutes(ready, document),
  ];
  return routes;
}

/** The document as served and committed. */
export const openApiText = (routes: readonly Route[]) => `${JSON.stringify(openApiDocument(routes, version), null, 2)}\n`;
