import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { dist } from '../bin/dist.mjs';
import { root } from '../bin/sources.mjs';

/** The types of the calls that the console makes, from our own document, before the console is checked. */
const document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
const others = /^\/(mcp|metrics|docs|openapi\.json|api\/(agent|slack|audit\/(tile|proof))(\/|$))/;
// A refusal throws, so its forms would only make the checks slow.
const isAnswer = ([status]) => status.startsWith('2');
for (const [path, methods] of Object.entries(document.paths)) {
  if (others.test(path)) delete document.paths[path];
  for (const operation of Object.values(methods)) {
    if (operation.responses) operation.responses = Object.fromEntries(Object.entries(operation.responses).filter(isAnswer));
  }
}
// What the server fills in need not be sent.
const types = await openapiTS(document, { defaultNonNullable: false });
mkdirSync(dist, { recursive: true });
writeFileSync(join(dist, 'api-types.d.ts'), astToString(types).replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, ''));
