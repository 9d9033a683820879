import type { Method, Route } from './route.js';

export type Match =
  | { kind: 'route'; route: Route; params: Record<string, string | null> }
  | { kind: 'wrong-method'; allow: string; readOnly: boolean; template: string }
  | { kind: 'none' };

export interface Router {
  /** `segments` as `splitPath` gives them; a parameter with a bad percent escape is null. */
  find(method: string, segments: readonly (string | null)[]): Match;
}

interface Pattern {
  template: string;
  segments: string[];
  routes: Partial<Record<Method, Route>>;
  readOnly: boolean;
}

/** Percent-decodes a path once per segment; null stands for a segment with a bad escape. */
export function splitPath(path: string): (string | null)[] {
  return path.slice(1).split('/').map(decodeSegment);
}

/** Matches paths against the routes' own values; `readOnlyPaths` refuse every writing method in their own way (HT-96). */
export function createRouter(routes: readonly Route[], readOnlyPaths: readonly string[]): Router {
  const byLength = new Map<number, Pattern[]>();
  for (const pattern of collectPatterns(routes, readOnlyPaths)) {
    const length = pattern.segments.length;
    byLength.set(length, [...(byLength.get(length) ?? []), pattern].sort(moreLiteralFirst));
  }
  return {
    find(method, segments) {
      const pattern = byLength.get(segments.length)?.find((candidate) => matches(candidate, segments));
      if (pattern === undefined) return { kind: 'none' };
      const route = pattern.routes[method.toLowerCase() as Method] ?? headOf(pattern, method);
      return route === undefined ? wrongMethod(pattern, method) : { kind: 'route', route, params: paramsOf(pattern, segments) };
    },
  };
}

function collectPatterns(routes: readonly Route[], readOnlyPaths: readonly string[]): Pattern[] {
  const patterns = new Map<string, Pattern>();
  const patternOf = (template: string) => {
    const known = patterns.get(template);
    if (known !== undefined) return known;
    const made: Pattern = { template, segments: template.slice(1).split('/'), routes: {}, readOnly: false };
    patterns.set(template, made);
    return made;
  };
  for (const route of routes) {
    const pattern = patternOf(route.path);
    if (pattern.routes[route.method] !== undefined) throw new Error(`two routes for ${route.method} ${route.path}`);
    pattern.routes[route.method] = route;
  }
  for (const path of readOnlyPaths) patternOf(path).readOnly = true;
  return [...patterns.values()];
}

const isParam = (segment: string) => segment.startsWith(':');

/** `/api/requests/stats` wins over `/api/requests/:id`. */
function moreLiteralFirst(a: Pattern, b: Pattern): number {
  return a.segments.filter(isParam).length - b.segments.filter(isParam).length;
}

function matches(pattern: Pattern, segments: readonly (string | null)[]): boolean {
  return pattern.segments.every((wanted, index) => (isParam(wanted) ? segments[index] !== '' : segments[index] === wanted));
}

/** HEAD is GET without its body, on the probes alone (HT-26). */
function headOf(pattern: Pattern, method: string): Route | undefined {
  const get = pattern.routes.get;
  return method === 'HEAD' && get?.access === 'public' ? get : undefined;
}

const methodOrder = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'];
const writing = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

function wrongMethod(pattern: Pattern, method: string): Match {
  const known = Object.keys(pattern.routes).map((name) => name.toUpperCase());
  const allowed = known.includes('GET') ? [...known, 'HEAD'] : known;
  const readOnly = pattern.readOnly && writing.has(method);
  if (allowed.length === 0 && !readOnly) return { kind: 'none' };
  const allow = methodOrder.filter((name) => allowed.includes(name)).join(', ');
  return { kind: 'wrong-method', allow, readOnly, template: pattern.template };
}

function paramsOf(pattern: Pattern, segments: readonly (string | null)[]): Record<string, string | null> {
  const params: Record<string, string | null> = {};
  pattern.segments.forEach((wanted, index) => {
    if (isParam(wanted)) params[wanted.slice(1)] = segments[index] ?? null;
  });
  return params;
}

function decodeSegment(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
