import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { openSignedCheckpoint, signCheckpoint } from '../../crypto/signed-note.js';
import { beginAttempt, recordAnswer, recordFailure } from '../../db/audit-anchors.js';
import { runSvc } from '../cli/run-svc.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { roleToml } from '../support/toml.js';

let api: TestApi;
let seqs: number[];
const list = (query = '', token = api.tokens.admin) => api.call('GET', `/api/audit/anchors${query}`, { token });
const anchors = async () => (await list()).body.anchors as Record<string, unknown>[];
const waiting = async () =>
  (await api.call('GET', '/metrics', { token: api.tokens.admin })).text.match(/^svc_audit_anchors_waiting .*$/gm);
const genuine = async () => (await anchors()).map(({ seq, genuine: is }) => [seq, is]);

beforeAll(async () => {
  api = await startTestApi({ toml: `${shopToml}\n${roleToml('shop-auditor', ['audit.read'], { databases: ['shop'] })}` });
  const { database } = api.services;
  await database.query(
    `insert into audit_events (id, event_type, event_category, event_version, outcome, actor_id, actor_type, metadata_json, created_at)
     select gen_random_uuid(), 'token.created', 'token', 1, 'success', 'mira', 'user', '{}', '2031-04-05T06:07:08.123456Z' from generate_series(1, 400)`,
  );
  await sealAll(api, true);
  seqs = (await database.query<{ seq: number }>('select seq from audit_anchors order by seq')).map(({ seq }) => seq);
  expect(seqs.length).toBeGreaterThanOrEqual(4);
  const newest = await beginAttempt(database, seqs[0]!);
  await recordFailure(database, newest!.seq, 'exit_1');
});
afterAll(() => api?.close());

describe('the checkpoints that an anchor was given (AU-93)', () => {
  it('are listed newest first, in pages', async () => {
    const all = (await list()).body;
    expect([all.anchors.map(({ seq }: { seq: number }) => seq), all.limit, all.offset]).toEqual([seqs.toReversed(), 10, 0]);
    const page = (await list('?limit=2&offset=1')).body;
    expect(page).toEqual({ anchors: all.anchors.slice(1, 3), limit: 2, offset: 1 });
    expect((await list('?limit=1000')).body.limit).toBe(50);
    expect((await list('?limit=-1')).body.code).toBe('validation.failed');
  });

  it('are for whoever may read the whole log', async () => {
    const narrow = await api.createUser('narrow', { roles: ['shop-auditor'] });
    const answer = await list('', narrow);
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.forbidden']);
  });

  it('carry what became of them, and the bytes of the answer; those that wait are counted (OP-20)', async () => {
    const { database } = api.services;
    const [second, newest] = [seqs.at(-2)!, seqs.at(-1)!];
    expect((await anchors())[0]).toMatchObject({
      seq: newest,
      state: 'waiting',
      attempts: 1,
      last_error: 'exit_1',
      covered_by: null,
      answer: null,
      answer_truncated: false,
      answered_at: null,
      genuine: true,
    });
    expect(await waiting()).toEqual([`svc_audit_anchors_waiting ${seqs.length}`]);
    await recordAnswer(database, second, { answer: Uint8Array.of(0, 255, 10), isTruncated: true });
    const [first, anchored, ...covered] = await anchors();
    expect(await waiting()).toEqual(['svc_audit_anchors_waiting 1']);
    expect(first).toMatchObject({ seq: newest, state: 'waiting' });
    expect(anchored).toMatchObject({ seq: second, state: 'anchored', answer: 'AP8K', answer_truncated: true });
    expect(anchored!.answered_at).toMatch(/^20\d\d-.*Z$/);
    expect(covered.map(({ state, covered_by: by }) => [state, by])).toEqual(covered.map(() => ['covered', second]));
    const { trusted } = await api.services.auditKeys(database);
    for (const { seq, note } of await anchors()) expect(openSignedCheckpoint(String(note), trusted.values())?.size).toBe(seq);
  });
});

describe('the command of docs/audit.md that checks a note that was kept', () => {
  const page = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');
  const [, ...argv] = /^\$ (svc audit verify --checkpoint note\.txt)$/m.exec(page)![1]!.split(' ');
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-note-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const check = (note: string) => {
    writeFileSync(join(directory, 'note.txt'), note);
    return runSvc(argv, { directory, environment: { SVC_SERVER_URL: api.url, SVC_TOKEN: api.tokens.admin } });
  };

  it('finds the log of each note in the log of today, and no other (AU-83)', async () => {
    const notes = (await anchors()).map(({ note }) => String(note));
    for (const note of [notes[0]!, notes.at(-1)!]) expect(await check(note)).toMatchObject({ code: 0 });
    const [origin, size] = notes[1]!.split('\n');
    const other = `${origin}\n${size}\n${Buffer.alloc(32, 0xfb).toString('base64')}\n`;
    expect(await check(other)).toMatchObject({ code: 1, stderr: expect.stringContaining('anchor_mismatch') });
  });
});

describe('a row that is not what the gateway signed is marked so (AU-93)', () => {
  beforeEach(async () => {
    expect(await genuine()).toEqual(seqs.toReversed().map((seq) => [seq, true]));
  });

  const forged = (set: string) =>
    tamper(api, 'create table kept as select * from audit_anchors', `update audit_anchors set ${set} where seq = ${seqs[0]}`);
  const restored = () =>
    tamper(api, 'delete from audit_anchors', 'insert into audit_anchors select * from kept', 'drop table kept');
  const onlyTheFirstIsForged = async () => {
    const found = await genuine();
    await restored();
    expect(found).toEqual(seqs.toReversed().map((seq) => [seq, seq !== seqs[0]]));
  };

  it('with the genuine note of another checkpoint', async () => {
    await forged(`note = (select note from audit_anchors where seq = ${seqs[1]})`);
    await onlyTheFirstIsForged();
  });

  it('with a changed byte in the note', async () => {
    await forged(`note = replace(note, E'=\\n\\n', E'=\\nmore\\n\\n')`);
    await onlyTheFirstIsForged();
  });

  it('with the hash of another event', async () => {
    await forged(`event_hash = (select event_hash from audit_events where seq = 1)`);
    await onlyTheFirstIsForged();
  });

  it('signed with a key that is not trusted', async () => {
    const { origin } = api.services.config().audit;
    const strange = signingKeyFromSeed(new Uint8Array(32).fill(7));
    await forged(`note = '${signCheckpoint({ origin, size: seqs[0]!, root: new Uint8Array(32) }, strange)}'`);
    await onlyTheFirstIsForged();
  });

  it('whose event is no checkpoint, also with a note of the gateway', async () => {
    const { origin } = api.services.config().audit;
    const { signer } = await api.services.auditKeys(api.services.database);
    const note = signCheckpoint({ origin, size: 1, root: new Uint8Array(32) }, signer!);
    const hash = '(select event_hash from audit_events where seq = 1)';
    await tamper(api, `insert into audit_anchors (seq, event_hash, note) values (1, ${hash}, '${note}')`);
    const found = await genuine();
    await tamper(api, 'delete from audit_anchors where seq = 1');
    expect(found.at(-1)).toEqual([1, false]);
  });
});
