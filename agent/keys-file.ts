import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { withPart } from '../lib/page-part.js';
import { agentToml } from './config-schema.js';

/** The page with the table of keys. After a schema change, `npx tsx agent/keys-file.ts` rewrites the table. */
export const agentKeysFile = new URL('../docs/agent.md', import.meta.url);

export interface AgentKey {
  /** As in the file, such as `marker.mode`; `databases.<name>.<environment>.url` for keys of a database. */
  path: string;
  type: string;
  /** Undefined where the schema sets no default. */
  fallback: unknown;
  meaning: string;
}

interface Schema {
  type?: string;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}

/** Every key of agent.toml, in schema order. */
export function listAgentKeys(): AgentKey[] {
  return keysOf(z.toJSONSchema(agentToml, { io: 'input' }) as Schema, []);
}

/** The page with the table of the current schema. */
export function withCurrentAgentKeys(page: string): string {
  const rows = listAgentKeys().map(({ path, type, fallback, meaning }) => {
    const shown = fallback === undefined ? '' : `\`${JSON.stringify(fallback)}\``;
    return `| \`${path}\` | ${type} | ${shown} | ${meaning} |\n`;
  });
  return withPart(page, 'keys', `| Key | Type | Default | Meaning |\n|---|---|---|---|\n${rows.join('')}`);
}

function keysOf(schema: Schema, path: readonly string[]): AgentKey[] {
  if (typeof schema.additionalProperties === 'object') {
    return keysOf(schema.additionalProperties, [...path, path.length === 1 ? '<name>' : '<environment>']);
  }
  if (schema.properties) return Object.entries(schema.properties).flatMap(([key, member]) => keysOf(member, [...path, key]));
  return [{ path: path.join('.'), type: typeOf(schema), fallback: schema.default, meaning: schema.description ?? '' }];
}

function typeOf({ type, enum: values, minimum, maximum }: Schema): string {
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  if (type === 'array') return 'list of strings';
  return type === 'integer' ? `integer, ${minimum} to ${maximum}` : (type ?? 'string');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await writeFile(agentKeysFile, withCurrentAgentKeys(await readFile(agentKeysFile, 'utf8')));
