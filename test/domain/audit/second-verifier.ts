import { createHash, createPublicKey, verify } from 'node:crypto';

/**
 * The checks of audit.md once more, written from its text alone: sections 4, 5 and 8. It shares no code with the verifier of the gateway, takes
 * the whole log at once, and is slow.
 */
type Row = Record<string, string | number | null>;
interface Log {
  rows: readonly Row[];
  head: Record<string, string | number> | null;
  purges: readonly Record<string, string | number>[];
  /** Public keys by key id. */
  keys: Readonly<Record<string, string>>;
  anchor: { seq: number; hash: string } | null;
}
type Finding = { reason: string; id: unknown; seq: unknown } | null;

const fields =
  `id event_type event_category event_version outcome actor_id actor_type resource_type resource_id peer_ip client_ip client_ip_source
  request_id operation database_name environment detail_fingerprint detail_raw reason metadata_json prev_hash created_at`.split(
    /\s+/,
  );

const purgeTextOf = (purge: Row) =>
  `purge-checkpoint:v1|${purge.last_purged_hash}|${purge.purged_before}|${purge.retained_count}`;

export function hashBySpec(row: Row): string {
  const parts = fields.map((name) => Buffer.from(row[name] === null ? '' : String(row[name]), 'utf8'));
  const input = Buffer.concat(parts.flatMap((part, at) => [Buffer.from(`${at > 0 ? '\n' : ''}${part.length}:`, 'ascii'), part]));
  return createHash('sha256').update(input).digest('hex');
}

export function findBySpec({ rows, head, purges, keys, anchor }: Log): Finding {
  const signed = (keyId: unknown, text: string, signature: unknown) => {
    const key = typeof keyId === 'string' && Object.hasOwn(keys, keyId) ? keys[keyId]! : null;
    if (key === null || typeof signature !== 'string' || !/^[0-9a-f]{128}$/.test(signature)) return false;
    const spki = createPublicKey({ key: Buffer.from(`302a300506032b6570032100${key}`, 'hex'), format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text), spki, Buffer.from(signature, 'hex'));
  };
  for (const [at, row] of rows.entries()) {
    const found = (reason: string) => ({ reason, id: row.id, seq: row.seq });
    const before = rows[at - 1];
    if (before === undefined) {
      if (Number(row.seq) > 1 || row.prev_hash !== null) {
        const known = purges.filter((purge) => purge.last_purged_hash === row.prev_hash);
        if (!known.some((purge) => signed(purge.key_id, purgeTextOf(purge), purge.signature)))
          return found('purge_boundary_unauthenticated');
        if (Number(row.seq) < 2) return found('sequence_gap');
      } else if (row.seq !== 1) return found('sequence_gap');
    } else {
      if (row.seq !== Number(before.seq) + 1) return found('sequence_gap');
      if (row.prev_hash !== before.event_hash) return found('prev_hash_mismatch');
    }
    if (hashBySpec(row) !== row.event_hash) return found('hash_mismatch');
    if (row.event_type === 'audit.signed_checkpoint') {
      let stated: Row;
      try {
        stated = JSON.parse(String(row.metadata_json)) as Row;
        for (const key of ['chain_head_hash', 'key_id', 'signature']) if (typeof stated[key] !== 'string') throw new Error(key);
        if (!Number.isInteger(stated.event_count_since_last_checkpoint)) throw new Error('count');
        if (Number(stated.event_count_since_last_checkpoint) < 0) throw new Error('count');
      } catch {
        return found('checkpoint_malformed');
      }
      const previous = rows.slice(0, at).findLastIndex((each) => each.event_type === 'audit.signed_checkpoint');
      const count = at - previous - 1;
      if (stated.chain_head_hash !== row.prev_hash) return found('checkpoint_head_mismatch');
      if (stated.event_count_since_last_checkpoint !== count) return found('checkpoint_count_mismatch');
      if (!signed(stated.key_id, `audit-checkpoint:v1|${stated.chain_head_hash}|${count}|${row.created_at}`, stated.signature))
        return found('checkpoint_signature_invalid');
    }
  }
  const last = rows.at(-1);
  if (head === null) return last === undefined ? null : { reason: 'head_missing', id: last.id, seq: last.seq };
  if (!signed(head.key_id, `audit-head:v1|${head.seq}|${head.event_hash}|${head.sealed_at}`, head.signature))
    return { reason: 'head_signature_invalid', id: last !== undefined && last.seq === head.seq ? last.id : null, seq: head.seq };
  const purgedAll = (purge: Row) =>
    purge.last_purged_hash === head.event_hash && signed(purge.key_id, purgeTextOf(purge), purge.signature);
  if (last === undefined && purges.some(purgedAll)) return null;
  const beyond = rows.find((row) => Number(row.seq) > Number(head.seq));
  if (beyond !== undefined) return { reason: 'head_mismatch', id: beyond.id, seq: beyond.seq };
  if (last === undefined || last.seq !== head.seq) return { reason: 'head_mismatch', id: null, seq: Number(last?.seq ?? 0) + 1 };
  if (last.event_hash !== head.event_hash) return { reason: 'head_mismatch', id: last.id, seq: last.seq };
  if (anchor === null || anchor.seq < Number(rows[0]!.seq)) return null;
  const there = rows.find((row) => row.seq === anchor.seq);
  return there?.event_hash === anchor.hash ? null : { reason: 'anchor_mismatch', id: there?.id ?? null, seq: anchor.seq };
}
