import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../api/http/openapi.js';
import { createRouter, splitPath } from '../../api/http/router.js';
import { currentOpenApiText, openApiFile } from '../../api/openapi-file.js';
import { allRoutes, defaultTimes, readOnlyPaths } from '../../api/routes.js';
import { httpStatus } from '../../runtime/http-errors.js';
import type { Loose } from '../support/api.js';

const mounted = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes);
const routes = mounted.filter(({ isPage }) => isPage !== true);
const document: Loose = openApiDocument(mounted, '0.0.0');

describe('the OpenAPI document (HT-98)', () => {
  it('is the committed one (`npx tsx api/openapi-file.ts` writes it)', () => {
    expect(readFileSync(openApiFile, 'utf8')).toBe(currentOpenApiText());
  });

  it('has every route with a summary, its errors and a response schema', () => {
    for (const route of routes) {
      const operation = document.paths[route.path.replace(/:([a-z_]+)/g, '{$1}')][route.method];
      expect(operation.summary.length).toBeGreaterThan(5);
      for (const code of route.errors) expect(operation.responses[httpStatus(code)].description).toContain(`\`${code}\``);
      const success = operation.responses[route.status];
      if (route.status !== 204 && route.mediaTypes?.length !== 0)
        expect(Object.values(success.content as object)[0].schema).toBeTypeOf('object');
    }
  });

  it('describes no body where the answer is empty', () => {
    const emptyOf = (path: string, method: string, status: number) => document.paths[path][method].responses[status];
    expect(emptyOf('/mcp', 'post', 202)).toEqual({ description: expect.stringMatching(/no answer/) });
    expect(emptyOf('/api/requests/{id}/result/stream', 'get', 204)).toEqual({ description: expect.stringMatching(/time is up/) });
    expect(emptyOf('/', 'get', 302)).toEqual({ description: expect.any(String) });
    expect(emptyOf('/api/requests/{id}/cancel', 'post', 202).content).toBeDefined();
  });

  it('says of each 429 and 503 when to call again (HT-27)', () => {
    const answers = Object.values(document.paths as Record<string, Record<string, Loose>>)
      .flatMap((item) => Object.values(item))
      .flatMap(({ responses }) => Object.entries(responses as Record<string, Loose>));
    const withHeader = new Set(answers.filter(([, { headers }]) => headers !== undefined).map(([status]) => status));
    const without = new Set(answers.filter(([, { headers }]) => headers === undefined).map(([status]) => status));
    expect([...withHeader].toSorted()).toEqual(['429', '503']);
    expect([...without].filter((status) => withHeader.has(status))).toEqual([]);
    expect(document.components.headers.RetryAfter.schema).toEqual({ type: 'integer', minimum: 1 });
  });

  it('names every operation once and every path parameter', () => {
    const ids: string[] = [];
    for (const [path, item] of Object.entries(
      document.paths as Record<string, Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>>,
    )) {
      for (const operation of Object.values(item)) {
        ids.push(operation.operationId);
        const named = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => name);
        const given = (operation.parameters ?? [])
          .filter((parameter) => parameter.in === 'path')
          .map((parameter) => parameter.name);
        expect(given).toEqual(named);
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names the headers that a call must or may send', () => {
    const headersOf = (path: string, method: string) =>
      document.paths[path][method].parameters
        .filter((one: Loose) => one.in === 'header')
        .map(({ name, required }: Loose) => (required ? name : `${name}?`));
    expect(headersOf('/mcp', 'post')).toEqual(['Mcp-Session-Id?', 'Mcp-Protocol-Version?']);
    expect(headersOf('/mcp', 'get')).toEqual(['Mcp-Session-Id', 'Last-Event-Id', 'Mcp-Protocol-Version?']);
    expect(headersOf('/mcp', 'delete')).toEqual(['Mcp-Session-Id']);
    const ofSlack = ['X-Slack-Signature', 'X-Slack-Request-Timestamp'];
    expect(headersOf('/api/slack/interactions', 'post')).toEqual(ofSlack);
    expect(headersOf('/api/slack/commands', 'post')).toEqual(ofSlack);
  });

  it('points only at components that are there', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref!);
    const isThere = (ref: string) => {
      const [, kind, name] = /^#\/components\/(\w+)\/(\w+)$/.exec(ref) ?? [];
      return document.components[kind ?? '']?.[name ?? ''] !== undefined;
    };
    expect(refs.length).toBeGreaterThan(100);
    expect(refs.filter((ref) => !isThere(ref))).toEqual([]);
  });

  it('describes what the router serves, and nothing that is always 405', () => {
    const router = createRouter(routes, readOnlyPaths);
    const served = routes.map(({ method, path }) => `${method} ${path.replace(/:([a-z_]+)/g, '{$1}')}`);
    const described = Object.entries(document.paths as Record<string, object>).flatMap(([path, item]) =>
      Object.keys(item).map((method) => ({ method, path })),
    );
    expect(described.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(served.toSorted());
    for (const { method, path } of described) {
      const segments = splitPath(path.replace(/\{[a-z_]+\}/g, 'x'));
      expect(router.find(method.toUpperCase(), segments).kind).toBe('route');
    }
  });

  it('says of each tag what it groups, and has none that is unused', () => {
    const used = routes.map(({ tag }) => tag);
    expect(new Set(document.tags.map(({ name }: Loose) => name))).toEqual(new Set(used));
    for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].+\.$/);
  });
});
