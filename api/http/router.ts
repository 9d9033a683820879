import KoaRouter, { type Layer } from '@koa/router';
import type { Route } from './route.js';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string | null> }
  | { kind: 'wrong-method'; allow: string; readOnly: boolean; template: string }
  | { kind: 'none' };

export interface Router {
  /** `segments` come from `splitPath`. A parameter with a bad percent escape is null. */
  find(method: string, segments: readonly (string | null)[]): Match;
}

export function splitTarget(url: string): { path: string; search: string } {
  const local = url.startsWith('/') ? url : pathOfAbsolute(url);
  const mark = local.indexOf('?');
  return mark < 0 ? { path: local, search: '' } : { path: local.slice(0, mark), search: local.slice(mark + 1) };
}

/** Clients send `GET http://host/path` to proxies. Any other target without a leading `/` is an unknown path. */
function pathOfAbsolute(url: string): string {
  const slash = /^https?:\/\/[^/?]*/i.exec(url)?.[0].length;
  return slash === undefined ? `/${url}` : url.slice(slash) || '/';
}

/** Percent-decodes each segment once. A bad escape becomes null. */
export function splitPath(path: string): (string | null)[] {
  return path.slice(1).split('/').map(decodeSegment);
}

const writing = ['POST', 'PUT', 'PATCH', 'DELETE'];
// Never called: the router only finds the route; `dispatch` orders the checks (HT-1 to HT-12).
const handledElsewhere = () => {};

/** Writing methods on `readOnlyPaths` get a refusal of their own (HT-96). */
export function createRouter(routes: readonly Route[], readOnlyPaths: readonly string[]): Router {
  const table = new KoaRouter({ strict: true, sensitive: true });
  const routeOf = new Map<Layer, Route>();
  const register = (path: string, methods: string[]) => {
    const layer = table.register(path, methods, handledElsewhere);
    if (layer instanceof KoaRouter) throw new Error(`several paths in ${path}`);
    return layer;
  };
  for (const route of [...routes].sort(moreLiteralFirst)) {
    const layer = register(route.path, [route.method]);
    if ([...routeOf.values()].some((known) => known.path === route.path && known.method === route.method))
      throw new Error(`two routes for ${route.method} ${route.path}`);
    routeOf.set(layer, route);
  }
  const readOnly = new Set(readOnlyPaths.map((path) => register(path, writing)));
  return { find: (method, segments) => find({ table, routeOf, readOnly }, method, encodePath(segments)) };
}

interface Registered {
  table: KoaRouter;
  routeOf: ReadonlyMap<Layer, Route>;
  readOnly: ReadonlySet<Layer>;
}

function find({ table, routeOf, readOnly }: Registered, method: string, path: string): Match {
  const { path: layers, pathAndMethod } = table.match(path, method);
  const named = pathAndMethod[0];
  const route = named && routeOf.get(named);
  // HEAD is GET without the body, and only probes allow it (HT-26).
  if (named && route && (method !== 'HEAD' || route.access === 'public'))
    return { kind: 'route', route, params: paramsOf(named, path) };
  const first = layers[0];
  const refuses = pathAndMethod.some((layer) => readOnly.has(layer));
  const known = layers.flatMap((layer) => (routeOf.has(layer) ? layer.methods : []));
  if (first === undefined || (known.length === 0 && !refuses)) return { kind: 'none' };
  return { kind: 'wrong-method', allow: allowOf(known), readOnly: refuses, template: String(first.path) };
}

/** `/api/requests/stats` wins over `/api/requests/:id`. */
function moreLiteralFirst(a: Route, b: Route): number {
  const parameters = ({ path }: Route) => path.split('/').filter((segment) => segment.startsWith(':')).length;
  return parameters(a) - parameters(b);
}

const methodOrder = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS'];
const allowOf = (methods: readonly string[]) => methodOrder.filter((name) => methods.includes(name)).join(', ');

function paramsOf(layer: Layer, path: string): Record<string, string | null> {
  const captures = layer.captures(path);
  return Object.fromEntries(layer.paramNames.map(({ name }, index) => [String(name), decodeSegment(captures[index] ?? '')]));
}

/** One spelling per path: an escaped letter matches the letter itself (HT-60). A bad escape stays bad. */
function encodePath(segments: readonly (string | null)[]): string {
  return `/${segments.map((segment) => (segment === null ? '%' : encodeURIComponent(segment))).join('/')}`;
}

function decodeSegment(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
