import { z } from 'zod';
import { TILE_WIDTH } from '../../crypto/merkle.js';
import type { Queryable } from '../../db/client.js';
import type { Caller } from '../../domain/caller.js';
import { invalid, refusal } from '../../domain/errors.js';
import { requireEverywhere } from '../../domain/lacking.js';
import type { Services } from '../context.js';
import { list, named, text } from '../http/fields.js';
import { seqParam } from '../http/query.js';
import { text as answer, immutable } from '../http/reply.js';
import { type Route, route } from '../http/route.js';
import { consistencyProof, inclusionProof, type SignedTree, signedNote, signedTree, tileBytes } from './tree.js';

const errors = ['validation.failed', 'auth.forbidden', 'service.unavailable'] as const;
const shared = {
  method: 'get',
  tag: 'audit',
  access: 'audit.read',
  everywhere: true,
  status: 200,
  errors,
} as const;

const tileFields: Readonly<Record<string, string>> = {
  level: 'The level of the tile, from 0.',
  index: 'Its index, or the first group of it.',
  rest: 'The next group of its index, or the width of a part.',
  last: 'The next group of its index, or the width of a part.',
  width: 'The width of a part.',
};

/** In the order of the path. */
const tileParams = (path: string) =>
  z.object(
    Object.fromEntries(
      [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, text(tileFields[name] ?? '', { maxLength: 17 })]),
    ),
  );

/** The tree over the audit log (audit.md section 9). Its hashes reveal nothing of the events, except how many there are in all. */
export const treeRoutes: Route[] = [
  route({
    ...shared,
    operationId: 'auditCheckpoint',
    path: '/api/audit/checkpoint',
    summary: 'Size and root of the audit log as a signed note',
    query: z.object({ old: seqParam('A size before; the proof that the log of then is the beginning of this one comes first.') }),
    response: z.string(),
    mediaTypes: ['text/plain'],
    async handle({ caller, query: { old } }, services) {
      const { db, tree } = await openTree(caller, services);
      const note = await signedNote(tree, db, services);
      if (old === undefined) return answer(plain, note);
      atMost(old, tree.size, 'old');
      return answer(plain, `${[`old ${old}`, ...(await consistencyProof(db, old, tree.size))].join('\n')}\n\n${note}`);
    },
  }),
  route({
    ...shared,
    operationId: 'auditProof',
    path: '/api/audit/proof',
    summary: 'Prove that an event is in the log, or that a log is the beginning of a later one',
    description: 'Give `seq` (with `size` if you like) or `from` (with `to` if you like).',
    query: z.object({
      seq: seqParam('The event to be proven.'),
      size: seqParam('With `seq`: the size of the log that it is proven to be in; the size now if absent.'),
      from: seqParam('The size of the earlier log.'),
      to: seqParam('With `from`: the size of the later log; the size now if absent.'),
    }),
    response: named('AuditProof', 'A proof in the tree over the audit log.', {
      proof: list(text('A hash, in base64.', { format: 'byte' }), 'The hashes, from the leaves up.'),
    }),
    async handle({ caller, query }, services) {
      const { db, tree } = await openTree(caller, services);
      const { seq, from } = query;
      if ((seq === undefined) === (from === undefined)) throw invalid('either seq or from is required', 'query.seq');
      if (seq !== undefined) {
        if (query.to !== undefined) throw invalid('to goes with from', 'query.to');
        const whole = atMost(query.size ?? tree.size, tree.size, 'size');
        return { proof: await inclusionProof(db, atMost(seq, whole, 'seq'), whole) };
      }
      if (query.size !== undefined) throw invalid('size goes with seq', 'query.size');
      const whole = atMost(query.to ?? tree.size, tree.size, 'to');
      return { proof: await consistencyProof(db, atMost(from as number, whole, 'from'), whole) };
    },
  }),
  ...tilePaths().map(([operationId, path, summary]) =>
    route({
      ...shared,
      operationId,
      path,
      summary,
      params: tileParams(path),
      response: z.string(),
      mediaTypes: ['application/octet-stream'],
      errors: [...errors, 'route.not_found'],
      async handle({ caller, params }, services) {
        const { db, tree } = await openTree(caller, services);
        const { level = '', ...rest } = params as Record<string, string>;
        const tile = readTile(level, Object.values(rest));
        const hashes = tile && (await tileBytes(db, tree, tile));
        if (!tile || !hashes) throw refusal('route.not_found', 'the log has no such tile');
        return tile.width === TILE_WIDTH ? immutable(octets, hashes) : answer(octets, hashes);
      },
    }),
  ),
];

const plain = 'text/plain; charset=utf-8';
const octets = 'application/octet-stream';

/**
 * An index from 1000 is written in groups of three digits (C2SP `tlog-tiles`): `x001/x234/067`; plain digits mean the same. Three groups name
 * 10^9 tiles, which a log of 2.56 · 10^11 events has; a group is a part of the path, so more of them are more routes.
 */
function tilePaths(): [string, `/${string}`, string][] {
  const base = '/api/audit/tile/8/:level';
  return [
    ['auditTile', `${base}/:index`, 'A complete tile of 256 hashes'],
    ['auditTilePart', `${base}/:index/:rest`, 'The first hashes of a tile (<index>.p/<width>), or a tile x<thousands>/<rest>'],
    [
      'auditFarTile',
      `${base}/:index/:rest/:last`,
      'A tile x<millions>/x<thousands>/<rest>, or the first of x<thousands>/<rest>.p/<width>',
    ],
    [
      'auditFarTilePart',
      `${base}/:index/:rest/:last/:width`,
      'The first hashes of a tile x<millions>/x<thousands>/<rest>.p/<width>',
    ],
  ];
}

function readTile(level: string, words: readonly string[]) {
  const [, groups = '', rest, part] = /^((?:x\d{3}\/)*)(\d{1,15})(?:\.p\/([1-9]\d{0,2}))?$/.exec(words.join('/')) ?? [];
  if (rest === undefined || !/^([0-9]|[1-5][0-9]|6[0-3])$/.test(level)) return null;
  if (groups === '' ? !/^(0|[1-9]\d*|\d{3})$/.test(rest) : rest.length !== 3 || groups.startsWith('x000')) return null;
  const width = part === undefined ? TILE_WIDTH : Number(part);
  if (width > TILE_WIDTH || (part !== undefined && width === TILE_WIDTH)) return null;
  return { level: Number(level), index: Number(`${groups.replace(/\D/g, '')}${rest}`), width };
}

/** The log is about all pairs, so its readers need a role for all. */
async function openTree(caller: Caller, services: Services): Promise<{ db: Queryable; tree: SignedTree }> {
  requireEverywhere(caller, 'audit.read');
  return { db: services.database, tree: await signedTree(services.database, services) };
}

function atMost(value: number, most: number, name: string): number {
  if (value > most) throw invalid(`${name} must be at most ${most}`, `query.${name}`);
  return value;
}
