import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openApiDocument } from '../../api/http/openapi.js';
import { allRoutes, defaultTimes } from '../../api/routes.js';
import type { Loose } from '../support/api.js';
import { withoutPointers } from './openapi-input.js';

const routes = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes);
const document: Loose = openApiDocument(routes, '0.0.0');
const schemas: Record<string, Loose> = document.components.schemas;
const operations: Loose[] = Object.values(document.paths as Record<string, object>).flatMap((item) => Object.values(item));

/** Every schema inside this one, with the way to it. Pointers are followed if `resolved` has none. */
function walk(schema: Loose, way: string): [way: string, schema: Loose][] {
  if (typeof schema !== 'object' || schema === null) return [];
  const members = Object.entries((schema.properties ?? {}) as Record<string, Loose>);
  const parts: [string, Loose][] = [
    ...members.map(([name, one]): [string, Loose] => [`${way}.${name}`, one]),
    ...(['items', 'additionalProperties'] as const).map((key): [string, Loose] => [`${way}[]`, schema[key]]),
    ...((schema.anyOf ?? []) as Loose[]).map((one): [string, Loose] => [way, one]),
  ];
  return [[way, schema], ...parts.flatMap(([to, one]) => walk(one, to))];
}

const inner = Object.entries(schemas).flatMap(([name, schema]) => walk(schema, name));
const sentence = /^(?:[A-Z`]|null ).*\.$/s;
const aboutOf = (schema: Loose): string | undefined =>
  schema.description ?? (schema.$ref === undefined ? undefined : schemas[schema.$ref.split('/').at(-1)]?.description);

describe('the fields of the OpenAPI document', () => {
  it('have a sentence each, and so has every named schema', () => {
    const fields = inner.flatMap(([way, { properties = {} }]) =>
      Object.entries(properties as Record<string, Loose>).map(([name, schema]): [string, Loose] => [`${way}.${name}`, schema]),
    );
    const silent = [...Object.entries(schemas), ...fields].filter(([, schema]) => !sentence.test(aboutOf(schema) ?? ''));
    expect(fields.length).toBeGreaterThan(400);
    expect(silent.map(([way]) => way)).toEqual([]);
  });

  it('of calls that are texts say how long they may be, by length, form or a list', () => {
    // The configuration limits these, by `result_storage.max_persist_bytes`.
    const configured = ['submitResult.result_data', 'submitResult.error_message'];
    const given = operations.flatMap(({ operationId, parameters = [], requestBody }: Loose) => [
      ...parameters.flatMap(({ name, schema }: Loose) => walk(schema, `${operationId}.${name}`)),
      ...Object.values((requestBody?.content ?? {}) as Record<string, Loose>).flatMap(({ schema }) =>
        walk(withoutPointers(schema, schemas), operationId),
      ),
    ]) as [string, Loose][];
    const bounds = ['maxLength', 'format', 'enum', 'pattern', 'const'];
    const unbounded = given.filter(
      ([, schema]) => [schema.type].flat().includes('string') && !bounds.some((bound) => schema[bound] !== undefined),
    );
    expect(given.length).toBeGreaterThan(150);
    expect(unbounded.map(([way]) => way)).toEqual(configured);
  });

  it('stand in named schemas, each of which is used', () => {
    const bodies = operations.flatMap(({ requestBody, responses }: Loose) =>
      [requestBody, ...Object.values(responses)].flatMap((one: Loose) =>
        Object.entries((one?.content ?? {}) as Record<string, Loose>).flatMap(([type, { schema }]) =>
          type === 'application/json' ? [schema] : [],
        ),
      ),
    );
    expect(bodies.filter((schema) => schema.$ref === undefined)).toEqual([]);
    const used = new Set(
      [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name),
    );
    expect([...used].toSorted()).toEqual(Object.keys(schemas));
  });
});

describe('the operations of the OpenAPI document', () => {
  it('say what they do, who may call them, and by which errors they are refused', () => {
    const tags = document.tags.map(({ name }: Loose) => name);
    for (const { operationId, summary, description, parameters = [], responses, security, ...rest } of operations) {
      expect(summary, operationId).toMatch(/^[A-Z].{5,90}[^.]$/);
      expect(description, operationId).toMatch(sentence);
      expect(tags, operationId).toEqual(expect.arrayContaining(rest.tags));
      for (const { name, description: about } of parameters) expect(about, `${operationId} ${name}`).toMatch(sentence);
      const statuses = security?.length === 0 ? ['400', '500', '503'] : ['400', '401', '403', '500', '503'];
      expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(statuses));
    }
  });

  it('give examples that fit their schemas', () => {
    const examples = operations.flatMap(({ requestBody, responses }: Loose) =>
      [requestBody, ...Object.values(responses)].flatMap((one: Loose) =>
        Object.values((one?.content ?? {}) as Record<string, Loose>).filter(({ example }) => example !== undefined),
      ),
    );
    expect(examples.length).toBeGreaterThan(9);
    for (const { schema, example } of examples)
      expect(z.fromJSONSchema(withoutPointers(schema, schemas) as Loose).safeParse(example).error?.issues ?? []).toEqual([]);
  });

  it('name every permission that opens them', () => {
    for (const { access, operationId } of routes) {
      if (access === 'public' || access === 'agent' || access === 'authenticated') continue;
      const { description } = operations.find((one) => one.operationId === operationId);
      for (const name of typeof access === 'string' ? [access] : access.anyOf) expect(description).toContain(`\`${name}\``);
    }
  });
});
